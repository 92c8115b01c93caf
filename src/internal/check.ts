/**
 * The checks at every public door: a wrong type is a `TypeError`, a value out of its domain a `RangeError`, and each
 * names the option, never the value of a string or an object.
 */

type Type = 'boolean' | 'function' | 'number' | 'object' | 'string'

/** What a value may be, in the words of the error. No type's name is part of another's. */
export type Kind = Type | `string or ${'number' | 'object' | 'URL'}`

/**
 * Numbers are integers from `min` to `max`. Where `max` is `Infinity`, that is one of them: caps and times, whose options
 * say what 0 and `Infinity` mean.
 */
export function check<T>(name: string, value: T, kind: Kind, min = 1, max = Infinity): T {
  if (value === null || !kind.includes(typeof value)) throw wrongType(name, `of type ${kind}`, value)
  // The rest of `Infinity` is NaN, which is as good as none.
  if (typeof value === 'number' && (!(value >= min && value <= max) || value % 1)) {
    throw new RangeError(`${name} must be an integer from ${min} to ${max}, got ${value}`)
  }
  return value
}

export function wrongType(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${name} must be ${expected}, got ${value === null ? value : typeof value}`)
}

/** By its shape: it may be of another bundle, or on another backend. */
export function checkBus<Bus extends { subscribe: unknown }>(bus: Bus): Bus {
  if (typeof check('bus', bus, 'object').subscribe !== 'function') throw wrongType('bus', 'a bus', bus)
  return bus
}

/** By its shape: a runtime may have more than one class of them. */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined && !(typeof signal?.addEventListener === 'function' && 'aborted' in signal)) {
    throw wrongType('signal', 'an AbortSignal', signal)
  }
}

/** One of the `options`, checked; `fallback` where it is left out. */
export function option<
  O extends object,
  Name extends keyof O & string,
  F extends O[Name] | undefined = undefined,
>(
  options: O,
  name: Name,
  kind: Kind,
  fallback?: F,
  min?: number,
  max?: number,
): Exclude<O[Name], undefined> | F {
  const value = check('options', options, 'object')[name]
  return value === undefined
    ? (fallback as F)
    : (check(name, value, kind, min, max) as Exclude<O[Name], undefined>)
}

/** The `drain` of a `close`, default true. */
export function drains(options: { drain?: boolean | undefined }): boolean {
  return option(options, 'drain', 'boolean', true)
}
