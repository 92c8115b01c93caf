/** Both caps on, so that every event is measured, and both out of reach, so that the same events are kept and queued. */
export const byteCaps = { maxRingBytes: 2 ** 40, maxQueuedBytes: 2 ** 30 }
