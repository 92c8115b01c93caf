/** What the files of `src` ask of each other and of their host, read from their syntax. */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import { ROOT } from './project.ts'

const SOURCE = join(ROOT, 'src')

export interface Import {
  /** A path below `src`, or the bare name as it is written. */
  readonly target: string
  readonly local: boolean
  /** Nothing of it is left at run time. */
  readonly typeOnly: boolean
  readonly names: readonly string[]
}

export interface SourceFile {
  /** Below `src`, with forward slashes. */
  readonly path: string
  /** The entry or the layer that the file belongs to: its folder, and `core` for the root entry. */
  readonly unit: string
  readonly lines: number
  readonly imports: readonly Import[]
  /** Names that are used and not written as a property: `process` in `process.pid`, but not in `job.process`. */
  readonly freeNames: ReadonlySet<string>
  /** Right-hand sides of `instanceof` that are a plain name. */
  readonly instanceOf: readonly string[]
}

export function readSources(): SourceFile[] {
  return readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .sort()
    .map(readSource)
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(SOURCE, path), 'utf8')
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports: Import[] = []
  const freeNames = new Set<string>()
  const instanceOf: string[] = []

  function addImport(specifier: string, typeOnly: boolean, names: readonly string[] = []): void {
    const local = specifier.startsWith('.')
    const target = local ? relative(SOURCE, join(SOURCE, dirname(path), specifier)) : specifier
    imports.push({ target, local, typeOnly, names })
  }

  function visit(node: ts.Node): void {
    if (ts.isImportDeclaration(node)) {
      addImport(textOf(node.moduleSpecifier), isTypeOnly(node.importClause), namesOf(node.importClause))
      return
    }
    if (ts.isExportDeclaration(node)) {
      if (node.moduleSpecifier !== undefined) {
        const named = node.exportClause !== undefined && ts.isNamedExports(node.exportClause)
        const elements = named ? (node.exportClause as ts.NamedExports).elements : undefined
        const typeOnly = node.isTypeOnly || (elements?.every((element) => element.isTypeOnly) ?? false)
        addImport(textOf(node.moduleSpecifier), typeOnly)
      }
      return
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      addImport(textOf(node.argument.literal), true)
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments
      addImport(argument === undefined ? '' : textOf(argument), false)
    }
    if (ts.isIdentifier(node) && !isPropertyName(node)) freeNames.add(node.text)
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword) {
      if (ts.isIdentifier(node.right)) instanceOf.push(node.right.text)
    }
    ts.forEachChild(node, visit)
  }

  visit(tree)
  return { path, unit: unitOf(path), lines: linesOf(text), imports, freeNames, instanceOf }
}

export function unitOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] as string) : 'core'
}

/** Files that reach themselves, each cycle as the path that closes it. */
export function cyclesOf(files: readonly SourceFile[], counts: (one: Import) => boolean): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const done = new Set<string>()
  const cycles: string[] = []

  function walk(path: string, trail: readonly string[]): void {
    const start = trail.indexOf(path)
    if (start >= 0) cycles.push([...trail.slice(start), path].join(' → '))
    if (start >= 0 || done.has(path)) return
    for (const one of byPath.get(path)?.imports ?? []) {
      if (one.local && counts(one)) walk(one.target, [...trail, path])
    }
    done.add(path)
  }

  for (const file of files) walk(file.path, [])
  return cycles
}

function linesOf(text: string): number {
  return text.replace(/\n$/, '').split('\n').length
}

function textOf(node: ts.Node): string {
  return ts.isStringLiteralLike(node) ? node.text : node.getText()
}

function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false
  if (clause.isTypeOnly) return true
  const named = clause.namedBindings
  if (clause.name !== undefined || named === undefined || !ts.isNamedImports(named)) return false
  return named.elements.length > 0 && named.elements.every((element) => element.isTypeOnly)
}

function namesOf(clause: ts.ImportClause | undefined): string[] {
  const named = clause?.namedBindings
  if (named === undefined) return clause?.name === undefined ? [] : [clause.name.text]
  return ts.isNamedImports(named) ? named.elements.map((element) => element.name.text) : [named.name.text]
}

function isPropertyName(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node
  if (ts.isQualifiedName(parent)) return parent.right === node
  const named =
    ts.isPropertyAssignment(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isBindingElement(parent)
  return named && (ts.isBindingElement(parent) ? parent.propertyName : parent.name) === node
}
