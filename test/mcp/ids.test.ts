import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEventStore, isUnknown, note, replay, storeNotes } from '../support/mcp.ts'
import { runs } from '../support/runs.ts'
import { shown } from '../support/shown.ts'

const NAMES = [
  '_GET_stream',
  'a_b',
  '',
  '__proto__',
  'constructor',
  'a:b:c',
  'a%3Ab',
  '::1',
  ' padded ',
  'line\r\nbreak\0',
  '"quoted\\"',
  'żółć 漢字 🚀',
  '\ud800',
  '\udc00\ud800',
  'x'.repeat(5000),
]

/** Any string at all, halves of surrogate pairs included. */
const anyName = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text)
const anyUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
  .map((units) => String.fromCharCode(...units))
const names = fc.oneof(fc.constantFrom(...NAMES), anyName, anyUnits)

describe('a stream named', () => {
  it.each(shown(NAMES))('%s is found again, and only its messages are', async (_, name) => {
    const store = createEventStore()
    const [first = ''] = await storeNotes(store, name, 1)
    await storeNotes(store, `${name}_`, 'other')
    await storeNotes(store, name, 2)
    expect(await store.getStreamIdForEventId(first)).toBe(name)
    expect(await replay(store, first)).toMatchObject({ stream: name, notes: [2] })
  })

  it.each(shown(NAMES))('%s has ids that a header and an SSE field can carry', async (_, name) => {
    const [id = ''] = await storeNotes(createEventStore({ namespace: name || ' ' }), name, 1)
    expect(id).toMatch(/^[!-~]+$/)
    expect(new Headers({ 'last-event-id': id }).get('last-event-id')).toBe(id)
  })

  it('anything is found again', async () => {
    await fc.assert(
      fc.asyncProperty(names, names, async (namespace, name) => {
        const store = createEventStore({ namespace: namespace || 'n' })
        const [first = '', second] = await storeNotes(store, name, 1, 2)
        expect(first).toMatch(/^[!-~]+$/)
        expect(await store.getStreamIdForEventId(first)).toBe(name)
        expect(await replay(store, first)).toMatchObject({ stream: name, ids: [second], notes: [2] })
      }),
      runs(200),
    )
  })

  it('__proto__ leaves prototypes alone', async () => {
    const store = createEventStore()
    const id = await store.storeEvent('__proto__', JSON.parse('{"__proto__": {"polluted": 1}}'))
    await store.storeEvent('__proto__', JSON.parse('{"__proto__": {"polluted": 2}, "a": 1}'))
    const { messages } = await replay(store, id)
    expect(JSON.stringify(messages)).toBe('[{"__proto__":{"polluted":2},"a":1}]')
    expect({}).not.toHaveProperty('polluted')
  })
})

describe('event ids', () => {
  it('are unique across streams, stores and namespaces', async () => {
    const stores = [
      createEventStore(),
      createEventStore(),
      createEventStore({ namespace: 'a:b' }),
      createEventStore({ namespace: 'a' }),
      createEventStore({ namespace: 'a' }),
    ]
    const ids: string[] = []
    for (const store of stores) {
      for (const stream of ['', 'a', 'b:a', 'b']) ids.push(...(await storeNotes(store, stream, 1, 2)))
    }
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('are unknown after any change', async () => {
    await fc.assert(
      fc.asyncProperty(
        names,
        fc.nat(),
        fc.constantFrom('drop', 'double', 'swap', 'up', 'space'),
        async (name, at, how) => {
          const store = createEventStore({ namespace: 'n' })
          // The only one of its stream, so that no change makes it the id of another one.
          await storeNotes(store, `${name}!`, 0)
          const [id = ''] = await storeNotes(store, name, 1)
          await storeNotes(store, `${name}?`, 2)
          const place = at % id.length
          const here = id[place] as string
          const made = {
            drop: '',
            double: here + here,
            swap: here === 'Z' ? 'z' : 'Z',
            up: here.toUpperCase(),
            space: ` ${here}`,
          }[how]
          const changed = id.slice(0, place) + made + id.slice(place + 1)
          if (changed !== id) expect(await isUnknown(store, changed), `${id} ${changed}`).toBe(true)
        },
      ),
      runs(300),
    )
  })

  it('are unknown in another spelling', async () => {
    const store = createEventStore({ namespace: 'n' })
    const [id = ''] = await storeNotes(store, 'a b', 1)
    const [namespace, stream, epoch, number] = id.split(':') as [string, string, string, string]
    for (const other of [
      [namespace, 'a b', epoch, number],
      [namespace, '%61%20b', epoch, number],
      [namespace, '%5Cu0061%20b', epoch, number],
      [namespace, stream, epoch, `0${number}`],
      [namespace, stream, epoch, `${number}.0`],
      [namespace, stream, epoch, '0'],
      [namespace, stream, epoch, `-${number}`],
      [namespace, '%E0%A4%A', epoch, number],
      [namespace, '%22', epoch, number],
      [namespace, stream, epoch, number, ''],
      [namespace, stream, number],
    ]) {
      expect.soft(await isUnknown(store, other.join(':')), other.join(':')).toBe(true)
    }
    expect(await isUnknown(store, id)).toBe(false)
  })

  it.each(
    shown(['', '7', ':::1', 'n:s:e:1', 'a_1_2', `${'9'.repeat(400)}`, 'n:s:e:9007199254740993', 'n\n:::1']),
  )('that this store never gave, such as %s, are unknown', async (_, id) => {
    const store = createEventStore({ namespace: 'n' })
    await storeNotes(store, 's', 1, 2, 3)
    expect(await isUnknown(store, id)).toBe(true)
  })

  it.each([2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2, 10 ** 300])(
    'with the number %d are unknown',
    async (number) => {
      const store = createEventStore()
      const [id = ''] = await storeNotes(store, 's', 1)
      expect(await isUnknown(store, id.replace(/1$/, `${BigInt(number)}`))).toBe(true)
    },
  )

  it('of a stored message are not those of what comes next', async () => {
    const store = createEventStore()
    const [id = ''] = await storeNotes(store, 's', 1)
    expect(await isUnknown(store, id.replace(/1$/, '2'))).toBe(true)
    expect(await store.storeEvent('s', note(2))).toBe(id.replace(/1$/, '2'))
  })
})
