/**
 * A contender's process: prepares a fixture, warms it, then takes one sample per message.
 * Started by `contest.mjs` with the fixture's name and its options as JSON.
 */
const [fixture, options] = process.argv.slice(2)
const { warm, ...rest } = JSON.parse(options)

process.on('disconnect', () => process.exit())
process.on('unhandledRejection', fail)

try {
  const { prepare } = await import(`./fixtures/${fixture}.mjs`)
  const { sample } = await prepare(rest)
  for (let i = 0; i < warm; i++) await sample()
  process.on('message', async (message) => {
    // Through `process.exit`, so that `--cpu-prof` writes its file.
    if (message === 'stop') process.exit()
    try {
      process.send(await sample())
    } catch (error) {
      fail(error)
    }
  })
  process.send('ready')
} catch (error) {
  fail(error)
}

function fail(error) {
  console.error(`${fixture} ${options}\n`, error)
  process.exit(1)
}
