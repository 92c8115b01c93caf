/** The ring as a strip of ids that ends at the head, and where this page's cursor stands on it. */
import { parts } from './ledger.js'
import { number, write } from './text.js'

const EPOCH_SHOWN = 9

/** `show(cursor, bus)`, with the cursor as the `id:` line held it, or undefined. */
export function createPosition({ cursor: cursorText, behind: behindText, earliest, head, epoch, track }) {
  const [ring, gap, needle] = track.children
  const percent = (share) => `${(100 * share).toFixed(2)}%`

  return {
    show(cursor, bus) {
      if (cursor !== undefined) {
        write(cursorText, String(parts(cursor).id))
        cursorText.title = cursor
      }
      if (!bus) return
      const known = cursor === undefined ? undefined : parts(cursor)
      const sameEpoch = known?.epoch === bus.epoch
      // The stream may be ahead of the figures, which are polled.
      const last = sameEpoch ? Math.max(bus.lastEventId, known.id) : bus.lastEventId
      const behind = sameEpoch ? last - known.id : undefined
      const at = sameEpoch ? Math.min(1, Math.max(0, 1 - behind / bus.ringSize)) : 0

      write(earliest, bus.ringEvents === 0 ? 'nothing' : String(bus.earliestAvailableId))
      write(head, String(last))
      write(epoch, bus.epoch.length > EPOCH_SHOWN ? `${bus.epoch.slice(0, EPOCH_SHOWN)}…` : bus.epoch)
      write(behindText, inWords(known, behind))
      track.classList.toggle('out', !sameEpoch || known.id + 1 < bus.earliestAvailableId)
      ring.style.left = percent(1 - bus.ringEvents / bus.ringSize)
      gap.style.left = percent(at)
      needle.style.left = percent(at)
    },
  }
}

function inWords(known, behind) {
  if (known === undefined) return ''
  if (behind === undefined) return 'of another epoch'
  return behind === 0 ? 'at the head' : `${number(behind)} behind`
}
