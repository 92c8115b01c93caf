/**
 * Finds those of many patterns that an event matches, at the cost of what matches it. One tree over system, type and path,
 * walked with the set of nodes that the input so far leads to.
 */

import { ANY, MANY, partsOf, type Segment } from './pattern.ts'

/** From the system to the type, and from the type to the path: a step that `**` cannot take. */
export const NEXT = Symbol()

type Step = Segment | typeof NEXT

/** The patterns for system, type and path as one way through the tree. */
export type Way = readonly Step[]

class Node<Value> {
  /** How many values are here and below. */
  values = 0;
  [ANY]: Node<Value> | undefined = undefined;
  [MANY]: Node<Value> | undefined = undefined;
  [NEXT]: Node<Value> | undefined = undefined
  literals: Map<string, Node<Value>> | undefined = undefined
  /** The nodes behind groups, by the groups' text. */
  groups: Map<string, Node<Value>> | undefined = undefined
  /** The same nodes by each literal in their groups: a group is one node, however many literals it has. */
  members: Map<string, Set<Node<Value>>> | undefined = undefined
  /** What ends here. */
  readonly here = new Set<Value>()
  /** It stands behind `**`: any segment leads back to it. */
  readonly loops: boolean
  /** The round in which it was reached last. */
  round = 0

  constructor(loops: boolean) {
    this.loops = loops
  }
}

export class Tree<Value> {
  readonly #root = new Node<Value>(false)
  #round = 0

  add(way: Way, value: Value): void {
    let node = this.#root
    for (const step of way) {
      node = childOf(node, step) ?? grown(node, step)
      node.values++
    }
    node.here.add(value)
  }

  /** What is on no other way is cut off. */
  delete(way: Way, value: Value): void {
    let node = this.#root
    for (const step of way) {
      const child = childOf(node, step) as Node<Value>
      child.values--
      if (child.values === 0) cut(node, step, child)
      node = child
    }
    node.here.delete(value)
  }

  /** What matches, each once, in the sets that it is kept in. */
  find(inputs: readonly unknown[]): Set<Value>[] {
    let starts: (Node<Value> | undefined)[] = [this.#root]
    let nodes: Node<Value>[] = []
    for (const input of inputs) {
      nodes = this.#reached(starts)
      for (const part of partsOf(input)) {
        if (nodes.length === 0) return []
        nodes = this.#behind(nodes, part)
      }
      starts = nodes.map((node) => node[NEXT])
    }
    return nodes.map(({ here }) => here)
  }

  #reached(nodes: readonly (Node<Value> | undefined)[]): Node<Value>[] {
    const reached: Node<Value>[] = []
    this.#round++
    for (const node of nodes) this.#reach(node, reached)
    return reached
  }

  #behind(nodes: readonly Node<Value>[], part: string): Node<Value>[] {
    const reached: Node<Value>[] = []
    this.#round++
    for (const node of nodes) {
      if (node.loops) this.#reach(node, reached)
      if (part !== '') this.#reach(node[ANY], reached)
      this.#reach(node.literals?.get(part), reached)
      if (node.members) for (const member of node.members.get(part) ?? []) this.#reach(member, reached)
    }
    return reached
  }

  /** A node, and what stands behind it for `**`, which may be no segment at all. */
  #reach(node: Node<Value> | undefined, reached: Node<Value>[]): void {
    if (node === undefined || node.round === this.#round) return
    node.round = this.#round
    reached.push(node)
    this.#reach(node[MANY], reached)
  }
}

const textOf = (group: ReadonlySet<string>) => [...group].join('|')

function childOf<Value>(node: Node<Value>, step: Step): Node<Value> | undefined {
  if (typeof step === 'symbol') return node[step]
  return typeof step === 'string' ? node.literals?.get(step) : node.groups?.get(textOf(step))
}

function grown<Value>(node: Node<Value>, step: Step): Node<Value> {
  const child = new Node<Value>(step === MANY)
  if (typeof step === 'symbol') node[step] = child
  else if (typeof step === 'string') {
    node.literals ??= new Map()
    node.literals.set(step, child)
  } else {
    node.groups ??= new Map()
    node.groups.set(textOf(step), child)
    node.members ??= new Map()
    for (const literal of step) {
      node.members.set(literal, (node.members.get(literal) ?? new Set()).add(child))
    }
  }
  return child
}

function cut<Value>(node: Node<Value>, step: Step, child: Node<Value>): void {
  if (typeof step === 'symbol') node[step] = undefined
  else if (typeof step === 'string') node.literals?.delete(step)
  else {
    node.groups?.delete(textOf(step))
    for (const literal of step) {
      const members = node.members?.get(literal)
      members?.delete(child)
      if (members?.size === 0) node.members?.delete(literal)
    }
  }
}
