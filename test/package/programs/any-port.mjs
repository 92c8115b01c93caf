/** A reader's port may be taken on the machine of the tests: any other will do, as long as the tests hear which. */

import { Server } from 'node:net'

const { listen } = Server.prototype

Server.prototype.listen = function (...args) {
  const callback = args.findLast((argument) => typeof argument === 'function')
  this.once('listening', () => process.send(this.address().port))
  return listen.call(this, 0, '127.0.0.1', ...(callback === undefined ? [] : [callback]))
}
