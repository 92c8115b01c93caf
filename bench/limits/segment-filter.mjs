/** A filter as one writes it by hand for patterns of literals and `*`: a regular expression, made once. */
export function segmentFilter(pattern) {
  const source = pattern.split('.').map((segment) => (segment === '*' ? '[^.]+' : segment))
  const expression = new RegExp(`^${source.join('\\.')}$`)
  return (type) => expression.test(type)
}
