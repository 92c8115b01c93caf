/**
 * Finds those of many patterns that an event matches, at the cost of what matches it. One tree over system, type and path,
 * walked with the set of nodes that the input so far leads to.
 */

import { ANY, MANY, NEXT, type Segment } from './pattern.ts'

/** Its children, by their steps; that of a group has a dot in it, and so is no input's. */
class Node<Value> extends Map<string, Node<Value>> {
  /** How many ways go through it. */
  uses = 0
  /** The round in which it was reached last. */
  round = 0
  /** It stands behind `**`: any segment leads back to it. */
  readonly loops: boolean
  /** What ends here. */
  readonly here = new Set<Value>()
  /** What a literal leads to beside its own node, being one of a group: that is one node, however large the group. */
  groups: Set<Node<Value>> | undefined

  constructor(loops: boolean) {
    super()
    this.loops = loops
  }
}

export class Tree<Value> {
  readonly #root = new Node<Value>(false)
  #round = 0

  add(way: readonly Segment[], value: Value): void {
    this.#go(way, 1).here.add(value)
  }

  /** What is on no other way goes with it. */
  delete(way: readonly Segment[], value: Value): void {
    this.#go(way, -1).here.delete(value)
  }

  /** What matches, each once. */
  find(parts: readonly string[]): Value[] {
    let nodes: Node<Value>[] = []
    this.#round++
    this.#reach(this.#root, nodes)
    for (const part of parts) {
      const before = nodes
      nodes = []
      this.#round++
      for (const node of before) {
        if (part !== NEXT) {
          if (node.loops) this.#reach(node, nodes)
          if (part !== '') this.#reach(node.get(ANY), nodes)
        }
        this.#reach(node.get(part), nodes)
      }
    }
    return nodes.flatMap(({ here }) => [...here])
  }

  /** A node, and what stands behind it for `**`, which may be no segment at all. */
  #reach(node: Node<Value> | undefined, reached: Node<Value>[]): void {
    if (node === undefined || node.round === this.#round) return
    node.round = this.#round
    reached.push(node)
    this.#reach(node.get(MANY), reached)
    if (node.groups) for (const group of node.groups) this.#reach(group, reached)
  }

  /** To the end of a way, which there is one more of, or one less. */
  #go(way: readonly Segment[], more: 1 | -1): Node<Value> {
    let node = this.#root
    for (const segment of way) {
      const parent = node
      if (typeof segment === 'string') node = child(parent, segment, more)
      else {
        node = child(parent, segment.join('.'), more)
        for (const literal of segment) {
          const member = child(parent, literal, more)
          member.groups ??= new Set()
          if (node.uses > 0) member.groups.add(node)
          else member.groups.delete(node)
        }
      }
    }
    return node
  }
}

function child<Value>(parent: Node<Value>, step: string, more: 1 | -1): Node<Value> {
  const node = parent.get(step) ?? new Node<Value>(step === MANY)
  node.uses += more
  if (node.uses > 0) parent.set(step, node)
  else parent.delete(step)
  return node
}
