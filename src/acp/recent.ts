/** The last ids of something: so many are remembered, and the oldest is forgotten for a new one. */
const REMEMBERED = 256

export function remember(ids: Set<string>, id: string): void {
  ids.add(id)
  if (ids.size > REMEMBERED) ids.delete(ids.values().next().value as string)
}
