/**
 * The checks at every public door: a wrong type is a `TypeError`, a value out of its domain a `RangeError`, and each
 * names the option and the kind of the value, never the value of a string or an object.
 */

/** `null`, `array`, `NaN`, `string` …: what a message may say about a value. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return String(value)
  return value === undefined ? 'undefined' : `a value of type ${typeof value}`
}

export function wrongType(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${name} must be ${expected}, got ${kindOf(value)}`)
}

export function outOfRange(name: string, expected: string, value: unknown): RangeError {
  return new RangeError(`${name} must be ${expected}, got ${kindOf(value)}`)
}

function number(name: string, value: unknown): number {
  if (typeof value !== 'number') throw wrongType(name, 'a number', value)
  return value
}

/** An integer in [min, max]; where `infinite`, also `Infinity`. */
export function checkInteger(
  name: string,
  value: unknown,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): number {
  const n = number(name, value)
  if (!Number.isInteger(n) || n < min || n > max) {
    throw outOfRange(name, `an integer from ${min} to ${max}`, n)
  }
  return n
}

/** A cap or a time: an integer ≥ `min`, or `Infinity`; what 0 and `Infinity` mean is the option's to say. */
export function checkCap(name: string, value: unknown, min = 1): number {
  const n = number(name, value)
  if (n !== Infinity && !(Number.isInteger(n) && n >= min)) {
    throw outOfRange(name, `an integer ≥ ${min} or Infinity`, n)
  }
  return n
}

export function checkBoolean(name: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw wrongType(name, 'a boolean', value)
  return value
}

export function checkFunction<F>(name: string, value: F | undefined): F | undefined {
  if (value !== undefined && typeof value !== 'function') throw wrongType(name, 'a function', value)
  return value
}

export function checkObject<T extends object>(name: string, value: T): T {
  if (value === null || typeof value !== 'object') throw wrongType(name, 'an object', value)
  return value
}
