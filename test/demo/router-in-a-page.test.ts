import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { describeInBrowser, launchBrowser } from './browser.ts'

/** The bus and its router as one script, which puts them on the page. */
async function script(): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `export * from './index.ts'; export * from './router/index.ts'`,
      resolveDir: fileURLToPath(new URL('../../src', import.meta.url)),
      loader: 'ts',
    },
    bundle: true,
    format: 'iife',
    globalName: 'library',
    target: 'es2022',
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}

/** The other side: asks for what matches, and shows its parent each message. */
const OTHER_SIDE = `addEventListener('message', ({ data, ports: [port] }) => {
  if (data !== 'port') return
  port.onmessage = ({ data }) => port.postMessage({ got: data })
  port.postMessage({ op: 'subscribe', id: 'mine', type: 'tick.*' })
})`

describeInBrowser('a bus in a page', () => {
  it.each(['worker', 'iframe'])('reaches a %s over a port', async (kind) => {
    const browser = await launchBrowser()
    try {
      const page = await browser.newPage()
      await page.goto('about:blank')
      await page.addScriptTag({ content: await script() })
      const result = await page.evaluate(
        async ([kind, code]) => {
          const { EventBus, bridgePort } = (globalThis as never as { library: Record<string, never> })
            .library as never as typeof import('../../src/index.ts') &
            typeof import('../../src/router/index.ts')
          const { port1, port2 } = new MessageChannel()
          if (kind === 'worker') {
            const worker = new Worker(URL.createObjectURL(new Blob([code])))
            worker.postMessage('port', [port2])
          } else {
            const frame = document.createElement('iframe')
            frame.srcdoc = `<script>${code}</script>`
            const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
            document.body.append(frame)
            await loaded
            frame.contentWindow?.postMessage('port', '*', [port2])
          }

          const bus = new EventBus()
          // Before the others: it is to hear of a request first.
          const bridge = bridgePort(bus, port1)
          const got: unknown[] = []
          const subscribed = new Promise<void>((resolve) => {
            port1.addEventListener('message', ({ data }) => {
              if (data.op === 'subscribe') resolve()
            })
          })
          const all = new Promise<void>((resolve) => {
            port1.addEventListener('message', ({ data }) => {
              if (data.got && got.push(data.got) === 2) resolve()
            })
          })
          await subscribed
          for (const type of ['tick.a', 'other', 'tick.b']) bus.publish({ type, data: { of: type } })
          await all
          bridge.close()
          return { got, left: bus.subscriberCount }
        },
        [kind, OTHER_SIDE] as const,
      )
      const message = (id: number, type: string) => ({ subscription: 'mine', id, type, data: { of: type } })
      expect(result).toEqual({
        got: [expect.objectContaining(message(1, 'tick.a')), expect.objectContaining(message(3, 'tick.b'))],
        left: 0,
      })
    } finally {
      await browser.close()
    }
  })
})
