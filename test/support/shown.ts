import { inspect } from 'node:util'

/** Rows for `it.each` whose title can show any value, on one line. */
export function shown<Value>(values: readonly Value[]): [string, Value][] {
  return values.map((value) => {
    const text = inspect(value, { breakLength: Infinity })
    return [text.length > 80 ? `${text.slice(0, 80)}…` : text, value]
  })
}
