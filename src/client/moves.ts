/** The cursor of a stream whose ids are those of a bus: duplicates are told, and so is a bus that is another one. */

import { createPlace, type ResyncData } from './place.ts'

/** What is lost with a bus that was replaced. */
export interface Reset {
  readonly reason: 'epoch_reset'
  readonly detail: 'epoch_mismatch'
  readonly lastDeliveredId?: number
  readonly earliestAvailableId: number
  readonly epoch: string
}

/** `onReset` gets a new epoch that no resync frame announced, with the cursor before the first event of it. */
export function createMoves(outlet: { cursor: string | undefined }, onReset: (data: Reset) => void) {
  const place = createPlace(outlet.cursor)
  return {
    /** Moves the cursor to an id; false for a duplicate. */
    to(id: string, isEvent: boolean): boolean {
      if (place.goToNext(id)) {
        outlet.cursor = id
        return true
      }
      const { last } = place
      const found = place.goTo(id)
      if (found === 'old') return false
      if (found === 'another epoch') {
        const earliestAvailableId = isEvent ? place.last : place.last + 1
        const epoch = place.epoch as string
        outlet.cursor = `${epoch}:${earliestAvailableId - 1}`
        onReset({
          reason: 'epoch_reset',
          ...(last >= 0 && { lastDeliveredId: last }),
          earliestAvailableId,
          epoch,
          detail: 'epoch_mismatch',
        })
      }
      // The empty id is what a client has that has seen none.
      outlet.cursor = id || undefined
      return true
    },
    /** Moves it to where a resync frame says. */
    resync(data: ResyncData | null | undefined): void {
      outlet.cursor = place.resync(data) ?? outlet.cursor
    },
  }
}
