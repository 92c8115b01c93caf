/**
 * Finds those of many patterns that an event matches, at the cost of what matches it. One tree over system, type and path,
 * walked with the set of nodes that the input so far leads to.
 */

import { ANY, MANY, NEXT, partsOf, type Segment } from './pattern.ts'

/** Most are made for one way and go with it, so what they may do without is not there. */
class Node<Value> {
  /** By their steps; that of a group has a dot in it, and so is no input's. */
  children: Map<string, Node<Value>> | undefined
  /** How many ways go through it. */
  uses = 0
  /** The round in which it was reached last. */
  round = 0
  /** The children for `*` and for `**`, which are asked for at every step. */
  any: Node<Value> | undefined
  many: Node<Value> | undefined
  /** It is behind `**`: any segment leads back to it. */
  readonly loops: boolean
  /** What ends here. */
  here: Set<Value> | undefined
  /** What a literal leads to beside its own node, being one of a group: that is one node, however large the group. */
  groups: Set<Node<Value>> | undefined

  constructor(loops: boolean) {
    this.loops = loops
  }
}

/** Where the paths of a type's events begin, and what was found for each of them. */
interface Start<Value> {
  readonly system: unknown
  readonly nodes: readonly Node<Value>[]
  found: Map<unknown, readonly Value[]>
}

/** Types that are remembered, and paths of each, at the most: a look-up takes a twentieth of a walk. */
const STARTS = 16
const PATHS = 2048

export class Tree<Value> {
  readonly #root = new Node<Value>(false)
  /** By type; right until the tree is changed. */
  #starts = new Map<unknown, Start<Value>>()
  #round = 0

  add(way: readonly Segment[], value: Value): void {
    const end = this.#go(way, 1)
    end.here ??= new Set()
    end.here.add(value)
  }

  /** What is on no other way goes with it. */
  delete(way: readonly Segment[], value: Value): void {
    this.#go(way, -1).here?.delete(value)
  }

  /** What matches, each once. */
  find(event: {
    readonly system?: unknown
    readonly type: unknown
    readonly path?: unknown
  }): readonly Value[] {
    const { system, type, path } = event
    let start = this.#starts.get(type)
    if (!start || start.system !== system) {
      const first: Node<Value>[] = []
      this.#round++
      this.#reach(this.#root, first)
      const nodes = this.#walk(first, [...partsOf(system), NEXT, ...partsOf(type), NEXT])
      start = { system, nodes, found: new Map() }
      if (this.#starts.size >= STARTS) this.#forget()
      this.#starts.set(type, start)
    }
    const known = start.found.get(path)
    if (known) return known
    const found: Value[] = []
    for (const { here } of this.#walk(start.nodes, partsOf(path)))
      if (here) for (const value of here) found.push(value)
    if (start.found.size >= PATHS) start.found = new Map()
    start.found.set(path, found)
    return found
  }

  #walk(nodes: readonly Node<Value>[], parts: readonly string[]): readonly Node<Value>[] {
    let from = nodes
    for (const part of parts) {
      const reached: Node<Value>[] = []
      this.#round++
      for (const node of from) {
        if (part !== NEXT) {
          if (node.loops) this.#reach(node, reached)
          if (part !== '') this.#reach(node.any, reached)
        }
        this.#reach(node.children?.get(part), reached)
      }
      from = reached
    }
    return from
  }

  /** A node, and what stands behind it for `**`, which may be no segment at all. */
  #reach(node: Node<Value> | undefined, reached: Node<Value>[]): void {
    if (!node || node.round === this.#round) return
    node.round = this.#round
    reached.push(node)
    if (node.many) this.#reach(node.many, reached)
    if (node.groups) for (const group of node.groups) this.#reach(group, reached)
  }

  /** A cleared map would keep what it held and what it holds next alive together, once the collector has moved it. */
  #forget(): void {
    this.#starts = new Map()
  }

  /** To the end of a way, on which there is one more of, or one less. */
  #go(way: readonly Segment[], more: 1 | -1): Node<Value> {
    if (this.#starts.size) this.#forget()
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
  parent.children ??= new Map()
  const node = parent.children.get(step) ?? new Node<Value>(step === MANY)
  node.uses += more
  if (node.uses > 0) parent.children.set(step, node)
  else parent.children.delete(step)
  if (step === ANY) parent.any = parent.children.get(step)
  if (step === MANY) parent.many = parent.children.get(step)
  return node
}
