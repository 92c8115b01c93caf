/** One of the page's two panels, and what a person reads off it. */
import type { Locator, Page } from 'playwright-core'

const PATIENCE = { timeout: 60_000 }

export type Delivery = 'live' | 'replayed' | 'held'

/** One event as the page lists it; the cursor is what its `id:` line held. */
export interface Row {
  readonly id: number
  readonly epoch: string
  readonly type: string
  readonly data: string
  readonly delivery: Delivery
}

/** The list from oldest to newest: events, and marks by name. */
export type Entry = { readonly mark: string; readonly text: string } | { readonly row: Row }

export type Counter = 'received' | 'replayed' | 'announced' | 'duplicates' | 'missing'

export class Panel {
  readonly page: Page
  readonly #reader: string

  constructor(page: Page, reader: 'eventsource' | 'connectbus') {
    this.page = page
    this.#reader = reader
  }

  /** What the selector finds in this panel. */
  find(selector: string): Locator {
    return this.page.locator(`.reader[data-reader="${this.#reader}"] ${selector}`)
  }

  part(name: string): Locator {
    return this.find(`[data-part="${name}"]`)
  }

  async state(): Promise<string> {
    return (await this.part('state').getAttribute('data-state')) ?? ''
  }

  waitForState(state: string): Promise<void> {
    return this.find(`[data-state="${state}"]`).waitFor(PATIENCE)
  }

  /** Marks of this name among what happened to this reader. */
  happened(name: string): Locator {
    return this.page.locator(`#happened [data-reader="${this.#reader}"][data-mark="${name}"]`)
  }

  /** Waits until the reader has seen this many marks of the name since the page was opened. */
  waitForMark(name: string, times = 1): Promise<void> {
    return this.happened(name)
      .nth(times - 1)
      .waitFor({ ...PATIENCE, state: 'attached' })
  }

  marks(name: string): Promise<number> {
    return this.happened(name).count()
  }

  waitForRows(least: number): Promise<void> {
    return this.find('.rows .event')
      .nth(least - 1)
      .waitFor({ ...PATIENCE, state: 'attached' })
  }

  /** Waits for an event whose data holds the text. */
  waitForData(text: string): Promise<void> {
    return this.find('.rows .data').filter({ hasText: text }).first().waitFor(PATIENCE)
  }

  /** Waits until what was made of the events counts so many, and counts as the server does. */
  waitForTally(total: number): Promise<void> {
    return this.find('.tally:has([data-difference="0"]) [data-part="total"]')
      .filter({ hasText: new RegExp(`^${total.toLocaleString('en')}$`) })
      .waitFor(PATIENCE)
  }

  /** By how much it counts more than the server; undefined where that cannot be told at the moment. */
  async difference(): Promise<number | undefined> {
    const text = await this.part('verdict').getAttribute('data-difference')
    return text ? Number(text) : undefined
  }

  waitForDifference(difference: number): Promise<void> {
    return this.find(`[data-difference="${difference}"]`).waitFor({ ...PATIENCE, state: 'attached' })
  }

  protected async number(name: string): Promise<number> {
    return Number((await this.part(name).textContent())?.replaceAll(',', ''))
  }

  /** The page's own counts for this reader. */
  async counters(): Promise<Record<Counter, number>> {
    return {
      received: await this.number('received'),
      replayed: await this.number('replayed'),
      announced: await this.number('announced'),
      duplicates: await this.number('duplicates'),
      missing: await this.number('missing'),
    }
  }

  async entries(): Promise<Entry[]> {
    return this.part('rows').evaluate((rows) =>
      [...rows.children].map((child) => {
        const item = child as HTMLElement
        const { mark, cursor = '', delivery } = item.dataset
        if (mark !== undefined) return { mark, text: item.textContent ?? '' }
        const [epoch = '', id] = cursor.split(':')
        const text = (part: string) => item.querySelector(part)?.textContent ?? ''
        return {
          row: {
            id: Number(id),
            epoch,
            type: text('.type'),
            data: text('.data'),
            delivery: delivery as Delivery,
          },
        }
      }),
    )
  }

  async rows(): Promise<Row[]> {
    return (await this.entries()).flatMap((entry) => ('row' in entry ? [entry.row] : []))
  }
}

/** The panel of `connectBus`, with its gate. */
export class GatedPanel extends Panel {
  waitForGate(gate: 'open' | 'shut'): Promise<void> {
    return this.find(`[data-gate="${gate}"]`).waitFor(PATIENCE)
  }

  async gate(): Promise<Record<'held' | 'released' | 'contained' | 'reconnects', number>> {
    return {
      held: await this.number('held'),
      released: await this.number('released'),
      contained: await this.number('contained'),
      reconnects: await this.number('reconnects'),
    }
  }
}

/** The ids in the order in which they came, per epoch; a hole or a repetition shows. */
export function idsByEpoch(rows: readonly Row[]): number[][] {
  const epochs = new Map<string, number[]>()
  for (const { epoch, id } of rows) epochs.set(epoch, [...(epochs.get(epoch) ?? []), id])
  return [...epochs.values()]
}

/** `first … last`, each once and in order. */
export const contiguous = (ids: readonly number[]): number[] =>
  Array.from({ length: ids.length }, (_, index) => (ids[0] ?? 0) + index)
