/** What a page may load: its own files, and the client as it was built. */
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}
const PAGE = new URL('./public/', import.meta.url)
const PAGE_FILES = new Set(readdirSync(PAGE))
/** The entry, and what it shares with other entries. */
const BUILT = new URL('./', import.meta.resolve('resumable-bus/client'))
const BUILT_FILE = /^\/dist\/((?:client|chunk-\w+)\.js)$/

/** The file's address, or undefined for what is nobody's business. */
function addressOf(path) {
  const built = BUILT_FILE.exec(path)?.[1]
  if (built !== undefined) return new URL(built, BUILT)
  const name = path === '/' ? 'index.html' : path.slice(1)
  return PAGE_FILES.has(name) ? new URL(name, PAGE) : undefined
}

/** `{ body, type }`, or undefined where there is no such file. */
export async function readPageFile(path) {
  const address = addressOf(path)
  if (address === undefined) return undefined
  try {
    return { body: await readFile(address), type: TYPES[extname(address.pathname)] }
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}
