/** Limit for one frame on the wire: a template literal around `JSON.stringify`. */
export function formatSseFrame(frame) {
  return `id: ${frame.id}\nevent: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`
}
