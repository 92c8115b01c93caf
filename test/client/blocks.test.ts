import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { connectSse, type SseBlock } from '../../src/client/index.ts'
import { fakeServer } from '../support/client-server.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)

/** What a client reads of one connection whose body comes in these chunks. */
async function read(
  ...chunks: (string | Uint8Array)[]
): Promise<{ blocks: SseBlock[]; cursor: string | undefined }> {
  const server = fakeServer()
  const stream = connectSse('http://test/', { fetch: server.fetch, maxRetries: 0 })
  const exchange = (await server.latest()).answer()
  for (const chunk of chunks) exchange.send(chunk)
  exchange.end()
  const blocks: SseBlock[] = []
  await expect(
    (async () => {
      for await (const block of stream) blocks.push(block)
    })(),
  ).rejects.toMatchObject({ code: 'sse_http_error', status: 200 })
  return { blocks, cursor: stream.cursor }
}

describe('a block', () => {
  test('has the id of its own line, its event, its data and the cursor', async () => {
    const { blocks, cursor } = await read('id: 7\nevent: tick\ndata: a\ndata:  b\n\ndata: c\n\n')
    expect(blocks).toEqual([
      { id: '7', event: 'tick', data: 'a\n b', cursor: '7' },
      { event: 'message', data: 'c', cursor: '7' },
    ])
    expect(Object.hasOwn(blocks[1] as object, 'id')).toBe(false)
    expect(cursor).toBe('7')
  })

  test('with an id and no data moves the cursor and is not handed out', async () => {
    const { blocks, cursor } = await read('data: a\n\nid: 7\n\ndata: b\n\nid: 8\nevent: x\n\nid: 9\n\n')
    expect(blocks.map(({ data, cursor }) => [data, cursor])).toEqual([
      ['a', undefined],
      ['b', '7'],
    ])
    expect(cursor).toBe('9')
  })

  test('that is a cursor block moves the cursor and is not handed out', async () => {
    const { blocks, cursor } = await read('id: e:3\nevent: cursor\ndata:\n\n')
    expect(blocks).toEqual([])
    expect(cursor).toBe('e:3')
  })

  test('of a stranger that is named cursor is handed out where it has data, or no id', async () => {
    const { blocks } = await read('id: 1\nevent: cursor\ndata: x\n\nevent: cursor\ndata:\n\n')
    expect(blocks).toEqual([
      { id: '1', event: 'cursor', data: 'x', cursor: '1' },
      { event: 'cursor', data: '', cursor: '1' },
    ])
  })

  test('with an empty data line is handed out', async () => {
    expect((await read('id: 1\ndata:\n\n')).blocks).toEqual([
      { id: '1', event: 'message', data: '', cursor: '1' },
    ])
  })

  test('whose id holds NUL keeps the cursor', async () => {
    const { blocks, cursor } = await read('id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n')
    expect(blocks.map((block) => block.id)).toEqual(['1', undefined])
    expect(cursor).toBe('1')
  })

  test('whose id is empty clears the cursor', async () => {
    const { blocks, cursor } = await read('id: 1\ndata: a\n\nid\ndata: b\n\n')
    expect(blocks.map((block) => block.cursor)).toEqual(['1', undefined])
    expect(cursor).toBeUndefined()
  })

  test('that the end of the response cuts off is dropped, its id too', async () => {
    const { blocks, cursor } = await read('id: 1\ndata: a\n\nid: 2\ndata: b\n')
    expect(blocks.map((block) => block.data)).toEqual(['a'])
    expect(cursor).toBe('1')
  })

  test('loses one byte order mark at the start of the stream and keeps the others', async () => {
    const mark = '\ufeff'
    expect((await read(`${mark}data: a\n\n${mark}data: b\n\n`)).blocks.map((block) => block.data)).toEqual([
      'a',
    ])
    expect(
      (await read(`${mark}${mark}data: a\n\ndata: ${mark}b\n\n`)).blocks.map((block) => block.data),
    ).toEqual([`${mark}b`])
  })

  test('that ends with CR is handed out before the next byte comes', async () => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch })
    ;(await server.latest()).answer('data: a\r\r')
    expect(await stream.next()).toMatchObject({ value: { data: 'a' } })
    stream.close()
  })

  test.each([
    ['ArrayBuffer', (bytes: Uint8Array) => bytes.buffer],
    ['DataView', (bytes: Uint8Array) => new DataView(bytes.buffer)],
  ])('may come as whatever a decoder takes: %s', async (_name, chunkOf) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(chunkOf(utf8('data: ä\n\n')))
        controller.close()
      },
    })
    const headers = { 'content-type': 'text/event-stream' }
    const response = { ok: true, status: 200, url: '', headers: new Headers(headers), body }
    const stream = connectSse('http://test/', { fetch: async () => response as unknown as Response })
    expect((await stream.next()).value).toMatchObject({ data: 'ä' })
    stream.close()
  })
})

/** In two chunks, in two with an empty one between them, and byte by byte. */
async function expectAtEveryCut(bytes: Uint8Array, whole: Awaited<ReturnType<typeof read>>): Promise<void> {
  for (let cut = 1; cut < bytes.length; cut++) {
    const [head, tail] = [bytes.slice(0, cut), bytes.slice(cut)]
    expect(await read(head, tail), `cut at ${cut}`).toEqual(whole)
    expect(await read(head, new Uint8Array(0), tail), `cut at ${cut}`).toEqual(whole)
  }
  expect(await read(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole)
}

describe('the same stream', () => {
  const text = [
    '\ufeffretry: 5000\r\n: comment — with dash\r\n\r\n',
    'id: e:1\r\nevent: tick\r\ndata: grüße 🎈\r\ndata: second\r\n\r\n',
    'id: e:2\rdata: cr\rdata\r\r',
    'id: e:3\n\n',
    'id: e:4\nevent: cursor\ndata:\n\n',
    'unknown: field\ndata:x\n\n',
    ':\n\nid: e:5\ndata: {"a":1}\n\ndata: cut off',
  ].join('')
  const bytes = utf8(text)

  test('gives the same blocks at every cut', async () => {
    const whole = await read(bytes)
    expect(whole.blocks.map((block) => block.data)).toEqual(['grüße 🎈\nsecond', 'cr\n', 'x', '{"a":1}'])
    await expectAtEveryCut(bytes, whole)
  })

  test('of bytes that are no UTF-8 gives the same blocks at every cut', async () => {
    const wrong = [0xff, 0x61, 0xc3, 0x61, 0xe2, 0x82, 0x0a]
    const broken = Uint8Array.of(...utf8('data: '), ...wrong, ...utf8('data: ok\n\n'))
    const whole = await read(broken)
    expect(whole.blocks.map((block) => block.data)).toEqual(['\ufffda\ufffda\ufffd\nok'])
    await expectAtEveryCut(broken, whole)
  })

  test('of any lines gives the same blocks in any chunks', async () => {
    const line = fc.constantFrom(
      'data: ä',
      'data',
      'id: 1',
      'id: é2',
      'event: x',
      'event: cursor',
      ': c',
      'id',
      'retry: 1',
      '',
    )
    const end = fc.constantFrom('\n', '\r', '\r\n')
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(line, end), { maxLength: 20 }),
        fc.array(fc.nat({ max: 200 }), { maxLength: 6 }),
        async (lines, cuts) => {
          const all = utf8(lines.map(([one, stop]) => one + stop).join(''))
          const places = [...new Set([0, ...cuts.filter((cut) => cut < all.length), all.length])].sort(
            (a, b) => a - b,
          )
          const chunks = places.slice(1).map((place, index) => all.slice(places[index], place))
          expect(await read(...chunks)).toEqual(await read(all))
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('maxBufferSize', () => {
  const open = async (...chunks: string[]) => {
    const server = fakeServer()
    const stream = connectSse('http://test/', { fetch: server.fetch, maxBufferSize: 10 })
    const exchange = (await server.latest()).answer()
    for (const chunk of chunks) exchange.send(chunk)
    return stream
  }

  test('is what the data of one block may have, however it is cut', async () => {
    const most = `data: ${'x'.repeat(10)}\n\n`
    for (let cut = 1; cut < most.length; cut++) {
      const stream = await open(most.slice(0, cut), most.slice(cut))
      expect(await stream.next(), `cut at ${cut}`).toMatchObject({ value: { data: 'x'.repeat(10) } })
      stream.close()
    }
  })

  test('rejects once behind what was read before, and the stream is over', async () => {
    const more = `data: ${'x'.repeat(11)}\n\n`
    for (let cut = 1; cut < more.length; cut++) {
      const stream = await open('id: 1\ndata: a\n\n', more.slice(0, cut), more.slice(cut))
      expect((await stream.next()).value).toMatchObject({ data: 'a' })
      await expect(stream.next(), `cut at ${cut}`).rejects.toThrow(/maxBufferSize/)
      expect(await stream.next()).toEqual({ done: true, value: undefined })
      expect([stream.readyState, stream.cursor]).toEqual([2, '1'])
    }
  })

  test('counts all lines of the data, and of a line that never ends', async () => {
    const lines = await open('data: 12345\ndata: 12345\n\n')
    await expect(lines.next()).rejects.toThrow(RangeError)
    const endless = await open('data: 12345', ...Array.from({ length: 300 }, () => '12345'))
    await expect(endless.next()).rejects.toThrow(RangeError)
  })
})
