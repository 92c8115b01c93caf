import { EventBus } from '../../src/index.ts'
import { describeBus } from './suite.ts'

describeBus('EventBus', {
  supports: ['any data', 'lasting replay', 'ring figures'],
  open: async (options) => {
    const bus = new EventBus(options)
    return { bus, close: async () => bus.close({ drain: false }) }
  },
})
