/** Limit for `publish` on a full ring: a bare circular array of the same frozen objects. */
export function create({ ringSize }) {
  const ring = new Array(ringSize)
  let head = 0

  return {
    publish(input) {
      const event = Object.freeze({ id: ++head, v: 1, type: input.type, data: input.data })
      ring[head % ringSize] = event
      return event
    },
  }
}
