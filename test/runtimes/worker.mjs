/**
 * Two places where a worker keeps a bus: in one request, and in a Durable Object that several requests share. A promise
 * that another request resolves is only allowed in the second.
 */

import * as root from 'resumable-bus'
import * as client from 'resumable-bus/client'
import * as lastEventId from 'resumable-bus/last-event-id'
import * as sse from 'resumable-bus/sse'
import * as web from 'resumable-bus/web'
import { clientScenario } from './client-scenario.mjs'
import { busOfFive, scenario } from './scenario.mjs'

export class Room {
  ended = busOfFive(root.EventBus)
  live = busOfFive(root.EventBus)

  constructor() {
    this.ended.end()
  }

  fetch(request) {
    switch (new URL(request.url).pathname) {
      case '/ended':
        return web.sseResponse(this.ended, request)
      case '/live':
        return web.sseResponse(this.live, request)
      case '/publish':
        return Response.json(this.live.publish({ type: 'tick', data: 6 }))
      case '/subscribers':
        return Response.json(this.live.subscriberCount)
      default:
        return new Response('unknown', { status: 404 })
    }
  }
}

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/scenario') {
      return Response.json(await scenario({ root, sse, lastEventId, web }))
    }
    if (pathname === '/client') {
      return Response.json(await clientScenario(client, searchParams.get('origin'), 'worker'))
    }
    return env.ROOM.get(env.ROOM.idFromName('room')).fetch(request)
  },
}
