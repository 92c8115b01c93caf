import { once } from 'node:events'
import { connect } from 'node:net'

export const redisUrl = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'

/** Whether something listens where the rows about Redis look for it. */
export async function redisAnswers() {
  const { hostname, port } = new URL(redisUrl)
  const socket = connect(Number(port || 6379), hostname)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
