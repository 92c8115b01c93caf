import type { Entry } from './reader.ts'

/** Characters that are read at a time, one entry at least: a page of 500 large events would block Redis and this process. */
const BUDGET = 1_000_000
const MOST = 500
/** Of entries whose size is not known yet. */
const FIRST = 32

/** How many entries are asked for at a time, by the size of those that came last. */
export class PageSize {
  #count = FIRST

  get count(): string {
    return `${this.#count}`
  }

  saw(entries: readonly Entry[]): void {
    if (entries.length === 0) return
    let size = 0
    for (const [, fields] of entries) size += fields[1]?.length ?? 0
    this.#count = Math.max(1, Math.min(MOST, Math.floor((BUDGET * entries.length) / (size + 1))))
  }
}
