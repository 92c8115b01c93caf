import { createParser } from 'eventsource-parser'

/** One thing that an event stream said, also what an `EventSource` would keep to itself. */
export type Item =
  | { readonly kind: 'retry'; readonly ms: number }
  | { readonly kind: 'comment'; readonly text: string }
  | { readonly kind: 'cursor'; readonly id: string }
  | { readonly kind: 'block'; readonly id?: string; readonly event?: string; readonly data: string }

const CONTROL = new Set([
  'slow_client_warning',
  'client_evicted',
  'state_resync_required',
  'replay_complete',
  'stream_error',
])

/** A stream as a conforming parser reads it, in order. */
export class Transcript {
  readonly items: Item[] = []
  /** Everything received, as text. */
  text = ''
  bytes = 0
  /** What the next `Last-Event-ID` would be. */
  cursor: string | undefined
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #parser = createParser({
    onId: (id) => {
      this.cursor = id
    },
    onEvent: ({ id, event, data }) => {
      if (event === 'cursor' && data === '' && id !== undefined) this.items.push({ kind: 'cursor', id })
      else
        this.items.push({
          kind: 'block',
          data,
          ...(id === undefined ? {} : { id }),
          ...(event === undefined ? {} : { event }),
        })
    },
    onRetry: (ms) => this.items.push({ kind: 'retry', ms }),
    onComment: (text) => this.items.push({ kind: 'comment', text }),
    onError: (error) => {
      throw error
    },
  })

  feed(chunk: Uint8Array): void {
    const text = this.#decoder.decode(chunk, { stream: true })
    this.bytes += chunk.length
    this.text += text
    this.#parser.feed(text)
  }

  /**
   * The stream as a list to compare: `retry 3000`, `: comment`, `cursor e1:0`, `e1:7 note` for an event, `no id: beat`
   * for a block without one, and `{ replay_complete: { … } }` for a control frame.
   */
  get said(): (string | Record<string, unknown>)[] {
    return this.items.map((item) => {
      if (item.kind === 'retry') return `retry ${item.ms}`
      if (item.kind === 'comment') return `: ${item.text}`
      if (item.kind === 'cursor') return `cursor ${item.id}`
      const type = typeOf(item)
      if (item.id !== undefined) return `${item.id} ${type}`
      return CONTROL.has(type) ? { [type]: controlData(item) } : `no id: ${type}`
    })
  }

  /** What was said, without comments. */
  get saidAloud(): (string | Record<string, unknown>)[] {
    return this.said.filter((line) => typeof line !== 'string' || !line.startsWith(': '))
  }

  get blocks(): (Item & { kind: 'block' })[] {
    return this.items.filter((item) => item.kind === 'block')
  }

  get comments(): string[] {
    return this.items.filter((item) => item.kind === 'comment').map((item) => item.text)
  }

  get cursors(): string[] {
    return this.items.filter((item) => item.kind === 'cursor').map((item) => item.id)
  }

  /** The numbers of the events received, without cursor blocks. */
  get ids(): number[] {
    return this.blocks.filter((block) => block.id !== undefined).map((block) => idNumber(block.id as string))
  }

  /** Data of the control frames of one type. */
  control(type: string): Record<string, unknown>[] {
    return this.blocks
      .filter((block) => block.id === undefined && typeOf(block) === type)
      .map((block) => controlData(block) as Record<string, unknown>)
  }

  /** The JSON of every block but control frames. */
  get payloads(): unknown[] {
    return this.blocks.filter((block) => !CONTROL.has(typeOf(block))).map((block) => JSON.parse(block.data))
  }
}

/** The number in `7` or `<epoch>:7`. */
export function idNumber(cursor: string): number {
  return Number(cursor.slice(cursor.lastIndexOf(':') + 1))
}

/** 1, 2 … n, or from … to. */
export function idsFrom(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
}

function typeOf(block: { event?: string; data: string }): string {
  if (block.event !== undefined) return block.event
  try {
    const type: unknown = (JSON.parse(block.data) as { type?: unknown } | null)?.type
    return typeof type === 'string' ? type : 'message'
  } catch {
    return 'message'
  }
}

/** `data` of an envelope, or the whole of a payload. */
function controlData(block: { data: string }): unknown {
  const value = JSON.parse(block.data) as { v?: unknown; data?: unknown }
  return value.v === 1 ? value.data : value
}

/** True where a chunk of a stream is made of whole frames: it ends with a blank line and no frame began before it. */
export function isWholeFrames(chunk: string): boolean {
  return chunk.length > 0 && chunk.endsWith('\n\n') && !chunk.startsWith('\n')
}
