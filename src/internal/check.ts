/**
 * The checks at every public door: a wrong type is a `TypeError`, a value out of its domain a `RangeError`, and each
 * names the option and the kind of the value, never the value of a string or an object.
 */

function refusal(name: string, expected: string, value: unknown): string {
  const kind = value === null || typeof value === 'number' ? value : typeof value
  return `${name} must be ${expected}, got ${kind}`
}

export function wrongType(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(refusal(name, expected, value))
}

export function outOfRange(name: string, expected: string, value: unknown): RangeError {
  return new RangeError(refusal(name, expected, value))
}

/**
 * An integer from `min` to `max`. Where `max` is left out, `Infinity` is one of them: caps and times, whose options say
 * what 0 and `Infinity` mean.
 */
export function checkInteger(name: string, value: unknown, min = 1, max = Infinity): number {
  if (typeof value !== 'number') throw wrongType(name, 'a number', value)
  if (value >= min && value <= max && (Number.isInteger(value) || value === Infinity)) return value
  throw outOfRange(name, `an integer from ${min} to ${max}`, value)
}

export function checkType<T>(name: string, value: T, type: 'boolean' | 'function' | 'object' | 'string'): T {
  if (value === null || typeof value !== type) throw wrongType(name, `of type ${type}`, value)
  return value
}

/** As `checkType`, for an option that may be left out. */
export function checkOptional<T>(name: string, value: T, type: 'function' | 'string'): T {
  return value === undefined ? value : checkType(name, value, type)
}

/** The `drain` of a `close`, default true. */
export function checkDrain(options: { drain?: boolean | undefined }): boolean {
  const { drain = true } = checkType('options', options, 'object')
  return checkType('drain', drain, 'boolean')
}
