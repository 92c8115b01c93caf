import { describe, expect, it } from 'vitest'
import { webBytes } from '../../src/web/body.ts'
import { joined } from '../../src/web/join.ts'

const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((text) => webBytes.encode(text)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
]

const join = (...chunks: Uint8Array[]) => joined(webBytes, chunks, chunks.length)
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe('frames that leave together', () => {
  it('are put together once for all streams that take the same ones', () => {
    const first = join(a, b, c)
    expect(textOf(first)).toBe('abc')
    expect(join(a, b, c)).toBe(first)
  })

  it('are put together anew where one in the middle, the order or the number differs', () => {
    join(a, b, c)
    expect(textOf(join(a, d, c))).toBe('adc')
    expect(textOf(join(c, d, a))).toBe('cda')
    expect(textOf(join(c, d))).toBe('cd')
    expect(textOf(join(c, d, a))).toBe('cda')
  })

  it('are not kept for later', async () => {
    const first = join(a, b)
    await Promise.resolve()
    expect(join(a, b)).not.toBe(first)
  })
})
