/** 128 bits that nobody can guess, in hexadecimal. `getRandomValues`, since `randomUUID` is missing on plain-http pages. */
export function randomId(): string {
  const words = crypto.getRandomValues(new Uint32Array(4))
  return Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('')
}
