/** The compiler over the packed package, as a user of it runs it: nothing skipped, nothing of the checkout in reach. */

import { relative } from 'node:path'
import ts from 'typescript'

export type Resolution = 'node16' | 'bundler'

export interface Compilation {
  readonly directory: string
  readonly files: readonly string[]
  readonly resolution: Resolution
  /** Whether the declarations of Node are there; they bring much that a browser's program does not have. */
  readonly nodeTypes: boolean
  readonly options?: ts.CompilerOptions
  /** What to read in place of a file; for the rest, undefined. */
  readonly replaced?: (path: string) => string | undefined
}

/** An error on one line, as `web.ts:12 TS2322: …`. */
export interface Fault {
  readonly file: string
  readonly line: number
  readonly code: string
  readonly message: string
}

/** Syntax trees by file and format: the libraries are the same in every compilation and take most of its time. */
const trees = new Map<string, ts.SourceFile | undefined>()

export function compile(compilation: Compilation): Fault[] {
  const options = optionsOf(compilation)
  const host = ts.createCompilerHost(options, true)
  const parse = host.getSourceFile
  host.getCurrentDirectory = () => compilation.directory
  host.getSourceFile = (path, languageVersion, ...rest) => {
    const text = compilation.replaced?.(path)
    if (text !== undefined) return ts.createSourceFile(path, text, languageVersion, true)
    const format = typeof languageVersion === 'object' ? languageVersion.impliedNodeFormat : undefined
    const key = `${path} ${format} ${compilation.resolution}`
    if (!trees.has(key)) trees.set(key, parse.call(host, path, languageVersion, ...rest))
    return trees.get(key)
  }
  const program = ts.createProgram([...compilation.files], options, host)
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => faultOf(diagnostic, compilation.directory))
}

export function textOf({ file, line, code, message }: Fault): string {
  return `${file}:${line} ${code}: ${message}`
}

function optionsOf({ resolution, nodeTypes, options }: Compilation): ts.CompilerOptions {
  const node16 = resolution === 'node16'
  return {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    module: node16 ? ts.ModuleKind.Node16 : ts.ModuleKind.ESNext,
    moduleResolution: node16 ? ts.ModuleResolutionKind.Node16 : ts.ModuleResolutionKind.Bundler,
    types: nodeTypes ? ['node'] : [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: false,
    skipLibCheck: false,
    noEmit: true,
    ...options,
  }
}

function faultOf(diagnostic: ts.Diagnostic, directory: string): Fault {
  const { file, start = 0 } = diagnostic
  return {
    file: file === undefined ? '' : relative(directory, file.fileName),
    line: file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line + 1,
    code: `TS${diagnostic.code}`,
    message: ts.flattenDiagnosticMessageText(diagnostic.messageText, ' '),
  }
}
