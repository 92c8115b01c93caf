import { describe, expect, it } from 'vitest'
import { serveSse } from '../../src/node/index.ts'
import { badOptions, complaint } from '../support/http-bad-options.ts'
import { serve } from '../support/http-server.ts'
import { makeBus, type SseOptions, serveBus } from '../support/http-surfaces.ts'

const refused = async (call: (bus: ReturnType<typeof makeBus>, req: never, res: never) => Promise<void>) => {
  const bus = makeBus()
  const server = await serve(async (req, res) => {
    res.setHeader('X-Before', 'kept')
    const error = await call(bus, req as never, res as never).then(
      () => 'it did not reject',
      (reason: unknown) => reason,
    )
    const untouched = !res.headersSent && !res.writableEnded && Object.keys(res.getHeaders()).length === 1
    res.statusCode = 418
    res.end()
    return { error, untouched }
  })
  const client = await server.open()
  expect(client.status).toBe(418)
  expect(bus.subscriberCount).toBe(0)
  const { error, untouched } = (await (
    await server.exchange()
  ).done) as { error: unknown; untouched: boolean }
  expect(untouched, 'the response is as it was').toBe(true)
  return error
}

describe('`serveSse` rejects, with the response untouched, for', () => {
  it.each(badOptions)('%s: %o', async (name, value, kind) => {
    const error = await refused((bus, req, res) => serveSse(bus, req, res, { [name]: value } as SseOptions))
    expect(error).toMatchObject(complaint(name, kind))
  })

  it('a header value that `Headers` takes and Node does not', async () => {
    for (const value of ['a\u0001b', 'a\u007fb']) {
      const error = await refused((bus, req, res) => serveSse(bus, req, res, { headers: { 'X-A': value } }))
      expect(error).toMatchObject(complaint('headers', 'TypeError'))
    }
  })

  it('options that are no object', async () => {
    for (const options of [null, 7, 'x'] as unknown as SseOptions[]) {
      expect(await refused((bus, req, res) => serveSse(bus, req, res, options))).toMatchObject(
        complaint('options', 'TypeError'),
      )
    }
  })

  it('a bus that is none', async () => {
    for (const bus of [null, undefined, {}, 7] as never[]) {
      expect(await refused((_bus, req, res) => serveSse(bus, req, res))).toMatchObject(
        complaint('bus', 'TypeError'),
      )
    }
  })

  it('a request or a response that is none', async () => {
    for (const none of [null, undefined, {}, 7] as never[]) {
      expect(await refused((bus, _req, res) => serveSse(bus, none, res))).toMatchObject(
        complaint('req', 'TypeError'),
      )
      expect(await refused((bus, req) => serveSse(bus, req, none))).toMatchObject(
        complaint('res', 'TypeError'),
      )
    }
  })
})

describe('`serveSse` settles', () => {
  it('with nothing when the stream has ended', async () => {
    const bus = makeBus()
    const server = await serveBus(bus)
    await server.open()
    bus.close()
    await expect((await server.exchange()).done).resolves.toBe(undefined)
  })
})
