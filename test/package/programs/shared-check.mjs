/** How often the data of one event is turned into JSON when several entries want it. */
export async function shared({ EventBus }, { formatSseFrame }, { sseResponse }) {
  let serialised = 0
  const bus = new EventBus({ epoch: 'shared' })
  const event = bus.publish({
    type: 'counted',
    data: {
      toJSON() {
        serialised++
        return 'once'
      },
    },
  })
  bus.end()
  formatSseFrame(event)
  formatSseFrame(event, { data: 'payload' })
  for (let client = 0; client < 3; client++) {
    const response = sseResponse(bus, new Request('http://localhost/?lastEventId=shared:0'))
    const text = await response.text()
    if (!text.includes('"once"')) throw new Error(`the event is missing: ${text}`)
  }
  bus.close()
  return { serialised }
}
