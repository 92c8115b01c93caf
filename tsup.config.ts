import { defineConfig } from 'tsup'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    sse: 'src/sse/index.ts',
    'last-event-id': 'src/last-event-id/index.ts',
    web: 'src/web/index.ts',
    node: 'src/node/index.ts',
    client: 'src/client/index.ts',
    session: 'src/session/index.ts',
    acp: 'src/acp/index.ts',
    redis: 'src/redis/index.ts',
    mcp: 'src/mcp/index.ts',
    router: 'src/router/index.ts',
  },
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: 'neutral',
  loader: { '.lua': 'text' },
  external: [/^node:/],
  // The package asks for nothing to be installed: the one parser it stands on is in `client`, with its notice.
  noExternal: ['eventsource-parser'],
  // `node:http` is a name of its own; without the prefix other runtimes look for a package.
  removeNodeProtocol: false,
  // Shared modules stay shared in both formats, so that the JSON kept with an event is found by every entry.
  splitting: true,
  // A program without node types and without the newest lib must still read our declarations.
  dts: { banner: '/// <reference lib="esnext.disposable" />' },
  clean: true,
  // Rollup writes the CommonJS: without it, `??` and `?.` become calls of helpers with a closure each.
  treeshake: true,
})
