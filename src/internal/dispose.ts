/**
 * `using` and `await using`. Where the runtime has no such symbol, the method gets a private one and nobody finds it:
 * the fallback keeps `obj["undefined"]` from coming into being.
 */

export const dispose: typeof Symbol.dispose = Symbol.dispose ?? (Symbol() as never)

export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? (Symbol() as never)
