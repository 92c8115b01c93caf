import { defineConfig } from 'vitest/config'

/** A script of Redis is imported as its text, as the build does it. */
const lua = {
  name: 'lua',
  transform: (code: string, id: string) =>
    id.endsWith('.lua') ? `export default ${JSON.stringify(code)}` : undefined,
}

export default defineConfig({
  plugins: [lua],
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/package/**', 'test/runtimes/**', 'test/demo/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'all',
          include: ['test/runtimes/**/*.test.ts', 'test/demo/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
