/** What a page may load: its own files, those that all pages share, and what it imports of the built package. */
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}
const SHARED = new URL('./public/', import.meta.url)
const BUILT = new URL('./', import.meta.resolve('resumable-bus'))

/**
 * `(path) => { body, type }`, or undefined where there is no such file.
 *
 * @param {URL} page The folder of the page, with an `index.html`.
 * @param {string} entry The entry of the package that it imports as `/dist/<entry>.js`.
 */
export function pageFiles(page, entry) {
  const addresses = new Map()
  for (const folder of [SHARED, page]) {
    for (const name of readdirSync(folder)) addresses.set(`/${name}`, new URL(name, folder))
  }
  addresses.set('/', new URL('index.html', page))
  /** The entry, and what it shares with other entries. */
  const builtFile = new RegExp(`^/dist/((?:${entry}|chunk-\\w+)\\.js)$`)

  return async (path) => {
    const built = builtFile.exec(path)?.[1]
    const address = built === undefined ? addresses.get(path) : new URL(built, BUILT)
    if (address === undefined) return undefined
    try {
      return { body: await readFile(address), type: TYPES[extname(address.pathname)] }
    } catch (error) {
      if (error.code === 'ENOENT') return undefined
      throw error
    }
  }
}
