import { openDelayedLog } from './delayed-log.ts'
import { describeBus } from './suite.ts'

describeBus('a bus whose publish takes time, on a log that several nodes follow', {
  supports: ['ring figures', 'several nodes'],
  open: openDelayedLog,
})
