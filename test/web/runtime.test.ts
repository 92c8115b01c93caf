import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { beforeAll, describe, expect, it } from 'vitest'

const SOURCE = join(import.meta.dirname, '../../src')
const FORBIDDEN_AT_IMPORT = ['setTimeout', 'setInterval', 'fetch', 'AbortController', 'crypto'] as const

/** Both entries as one script that leaves their exports in a global. */
async function bundle(): Promise<{ code: string; imports: string[] }> {
  const result = await build({
    stdin: {
      contents: `export * from '${SOURCE}/index.ts'; export * from '${SOURCE}/web/index.ts'`,
      resolveDir: SOURCE,
      loader: 'ts',
    },
    bundle: true,
    write: false,
    metafile: true,
    format: 'iife',
    globalName: 'library',
    platform: 'neutral',
    target: 'es2022',
    external: ['node:*'],
  })
  const imports = Object.values(result.metafile.outputs).flatMap((output) =>
    output.imports.map(({ path }) => path),
  )
  return { code: result.outputFiles[0]?.text as string, imports }
}

/** A runtime without `process` and `Buffer`, whose timers are numbers. */
function context(forbidden: (name: string) => void): ReturnType<typeof createContext> {
  let allowed = false
  const sandbox: Record<string, unknown> = {
    allow: () => {
      allowed = true
    },
    TextEncoder,
    TextDecoder,
    Request,
    Response,
    Headers,
    ReadableStream,
    AbortSignal,
    URL,
    URLSearchParams,
    queueMicrotask,
    performance,
    console,
  }
  const handles = new Map<number, NodeJS.Timeout>()
  let count = 0
  const start = (run: (work: () => void, ms: number) => NodeJS.Timeout) => (work: () => void, ms: number) => {
    handles.set(++count, run(work, ms))
    return count
  }
  const real: Record<string, unknown> = {
    setTimeout: start(setTimeout),
    setInterval: start(setInterval),
    fetch,
    AbortController,
    crypto,
  }
  for (const name of FORBIDDEN_AT_IMPORT) {
    Object.defineProperty(sandbox, name, {
      configurable: true,
      get: () => {
        if (!allowed) forbidden(name)
        return real[name]
      },
    })
  }
  sandbox.clearTimeout = sandbox.clearInterval = (id: number) => {
    if (typeof id === 'number') clearTimeout(handles.get(id))
  }
  return createContext(sandbox)
}

describe('the entries `.` and `./web`', () => {
  let code = ''
  let imports: string[] = []
  beforeAll(async () => {
    ;({ code, imports } = await bundle())
  })

  it('import no module of Node', () => {
    expect(imports).toEqual([])
    expect(code).not.toMatch(/\bBuffer\b|\bprocess\./)
  })

  it('do nothing at import: no timer, no random value, no AbortController', () => {
    const used: string[] = []
    const sandbox = context((name) => used.push(name))
    runInContext(code, sandbox)
    // `typeof x` reads the getter too, which is allowed; calling it is not. None is needed, so none is expected.
    expect(used).toEqual([])
  })

  it('serve a stream where timers are numbers', async () => {
    const sandbox = context(() => {})
    runInContext(code, sandbox)
    runInContext('allow()', sandbox)
    const text: unknown = await runInContext(
      `(async () => {
        const bus = new library.EventBus({ epoch: 'e1' })
        const response = library.sseResponse(bus, new Request('http://h/'), { heartbeatMs: 5 })
        const reader = response.body.getReader()
        let text = ''
        const decoder = new TextDecoder()
        const read = async () => { text += decoder.decode((await reader.read()).value) }
        await read()
        bus.publish({ type: 'note', data: 1 })
        while (!text.includes('e1:1')) await read()
        while (!text.includes(': ')) await read()
        while (!/^:/m.test(text)) await read()
        bus.close()
        for (;;) { const { done } = await reader.read(); if (done) return text }
      })()`,
      sandbox,
    )
    expect(text).toContain('id: e1:1\nevent: note\n')
  })

  it('draw a fresh epoch for each bus, on a page without a secure context too', () => {
    const sandbox = context(() => {})
    runInContext(code, sandbox)
    runInContext('allow()', sandbox)
    Object.defineProperty(sandbox, 'crypto', {
      value: { getRandomValues: crypto.getRandomValues.bind(crypto) },
    })
    const epochs = runInContext(
      'Array.from({ length: 20 }, () => new library.EventBus().epoch)',
      sandbox,
    ) as string[]
    expect(new Set(epochs).size).toBe(20)
    for (const epoch of epochs) expect(epoch).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
  })
})
