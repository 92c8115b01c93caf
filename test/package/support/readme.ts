/**
 * The programs in the documentation. A fence of code is a file of its own, type-checked as a user's file; an HTML
 * comment on the line above says more about it:
 *
 * - `<!-- run -->`: it is also run, and must end by itself without an error. What a `text` fence marked
 *   `<!-- prints -->` right behind it says is what it must print.
 * - `<!-- serve /path -->`: it is run as a server that listens on some port; the path must be answered, with the start of
 *   the body that a fence marked `<!-- prints -->` shows.
 * - `<!-- continues -->`: it goes on where the fence of code before it ended.
 * - `<!-- given bus req res -->`: these names stand for what the reader has by then; `GIVEN` says what they are.
 */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './project.ts'

/** Languages of fences that are programs, and the file each one would be. */
export const CODE: Record<string, string> = { ts: 'mts', js: 'mjs', cjs: 'cjs' }

/** Languages of fences that are none. A fence of any other language, or of none, is a mistake in the page. */
export const PROSE = ['sh', 'text', 'json', 'jsonc', 'html', 'http', 'console', 'diff']

export const GIVEN: Record<string, string> = {
  bus: "declare const bus: import('resumable-bus').EventBus",
  subscription: "declare const subscription: import('resumable-bus').Subscription",
  frame: "declare const frame: import('resumable-bus').Frame",
  event: "declare const event: import('resumable-bus').BusEvent",
  request: 'declare const request: Request',
  signal: 'declare const signal: AbortSignal',
  req: "declare const req: import('node:http').IncomingMessage",
  res: "declare const res: import('node:http').ServerResponse",
  server: "declare const server: import('node:http').Server",
}

export type Directive =
  | { readonly kind: 'check' }
  | { readonly kind: 'run' }
  | { readonly kind: 'serve'; readonly path: string }
  | { readonly kind: 'continues' }
  | { readonly kind: 'given'; readonly names: readonly string[] }
  | { readonly kind: 'prints' }
  | { readonly kind: 'unknown'; readonly text: string }

export interface Fence {
  readonly page: string
  /** Of the fence's first line of code. */
  readonly line: number
  readonly language: string
  readonly directive: Directive
  readonly text: string
}

/** One or more fences that make one file. */
export interface Snippet {
  readonly name: string
  readonly extension: string
  readonly text: string
  readonly run: 'no' | 'run' | 'serve'
  readonly path: string
  readonly prints: string | undefined
}

export async function readFences(page: string): Promise<Fence[]> {
  return fencesOf(page, await readFile(join(ROOT, page), 'utf8'))
}

export function fencesOf(page: string, text: string): Fence[] {
  const lines = text.split('\n')
  const fences: Fence[] = []
  for (let index = 0; index < lines.length; index++) {
    const open = /^( *)(`{3,}|~{3,})(.*)$/.exec(lines[index] as string)
    if (open === null) continue
    const [, indent = '', mark = '', info = ''] = open
    const start = index + 1
    while (++index < lines.length && (lines[index] as string).trim() !== mark);
    const body = lines
      .slice(start, index)
      .map((line) => line.replace(new RegExp(`^ {0,${indent.length}}`), ''))
    const directive = directiveOf(lines.slice(0, start - 1))
    fences.push({ page, line: start + 1, language: info.trim(), directive, text: body.join('\n') })
  }
  return fences
}

/** The comment above a fence, blank lines between them allowed. */
function directiveOf(above: readonly string[]): Directive {
  const line = above.filter((one) => one.trim() !== '').at(-1) ?? ''
  const text = /^\s*<!--\s*(.*?)\s*-->\s*$/.exec(line)?.[1]
  if (text === undefined) return { kind: 'check' }
  const [word, ...rest] = text.split(/\s+/)
  if ((word === 'run' || word === 'continues' || word === 'prints') && rest.length === 0)
    return { kind: word }
  if (word === 'serve' && rest.length === 1) return { kind: 'serve', path: rest[0] as string }
  if (word === 'given' && rest.length > 0) return { kind: 'given', names: rest }
  return { kind: 'unknown', text }
}

/** What is wrong with a page's fences, in words for its author. */
export function mistakesOf(fences: readonly Fence[]): string[] {
  return fences.flatMap(({ page, line, language, directive }, index) => {
    const at = `${page}:${line}`
    const isCode = language in CODE
    const before = fences[index - 1]
    if (!isCode && !PROSE.includes(language)) return [`${at}: unknown language "${language}"`]
    if (directive.kind === 'unknown') return [`${at}: unknown directive "${directive.text}"`]
    if (!isCode && directive.kind !== 'check' && directive.kind !== 'prints') {
      return [`${at}: "${directive.kind}" is for code`]
    }
    if (directive.kind === 'prints' && (isCode || before === undefined || !(before.language in CODE))) {
      return [`${at}: "prints" belongs right behind code`]
    }
    if (directive.kind === 'continues' && before?.language !== language) {
      return [`${at}: "continues" belongs behind code of the same language`]
    }
    if (directive.kind === 'given') {
      return directive.names
        .filter((name) => !(name in GIVEN))
        .map((name) => `${at}: "${name}" is not in GIVEN`)
    }
    return []
  })
}

export function snippetsOf(fences: readonly Fence[]): Snippet[] {
  const snippets: Snippet[] = []
  for (const { page, line, language, directive, text } of fences) {
    const last = snippets.at(-1)
    if (directive.kind === 'prints' && last !== undefined) {
      snippets[snippets.length - 1] = { ...last, prints: text }
    } else if (directive.kind === 'continues' && last !== undefined) {
      snippets[snippets.length - 1] = { ...last, text: `${last.text}\n${text}` }
    } else if (language in CODE) {
      const given = directive.kind === 'given' ? directive.names.map((name) => GIVEN[name]) : []
      snippets.push({
        name: `${page.replace(/[^A-Za-z]+/g, '-')}-line-${line}`,
        extension: CODE[language] as string,
        text: [...given, text].join('\n'),
        run: directive.kind === 'run' || directive.kind === 'serve' ? directive.kind : 'no',
        path: directive.kind === 'serve' ? directive.path : '',
        prints: undefined,
      })
    }
  }
  return snippets
}
