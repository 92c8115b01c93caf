/** Answers each entry of one stream with one in another. */
import { commands } from './redis-commands.mjs'

process.on('disconnect', () => process.exit())
const [url, key] = process.argv.slice(2)
const { read, write } = await commands(url, `${key}:back`, `${key}:there`)
process.send('ready')
for (;;) {
  await read()
  void write()
}
