import { toNodeHandler } from '../../src/node/index.ts'
import { over, type RawClient, type RequestShape } from './http-client.ts'
import { serve, type TestServer } from './http-server.ts'

export type FetchHandler = (request: Request) => Response | Promise<Response>

/** A server whose every request goes to a fetch handler. */
export function handle(
  handler: FetchHandler,
  how: { http2?: boolean; highWaterMark?: number } = {},
): Promise<TestServer> {
  const adapted = toNodeHandler(handler)
  return serve((req, res) => adapted(req, res), { readsBody: true, ...how })
}

/** The body of an answer as text, once it is complete. */
export async function textOf(
  server: TestServer,
  request?: RequestShape,
): Promise<{ client: RawClient; text: string }> {
  const client = server.connect(request)
  let text = ''
  const decoder = new TextDecoder()
  client.transcript.feed = (chunk: Uint8Array) => {
    text += decoder.decode(chunk, { stream: true })
  }
  await over(client)
  return { client, text }
}

export const encode = (text: string) => new TextEncoder().encode(text)
