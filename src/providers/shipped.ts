import { readdirSync, readFileSync } from 'node:fs'
import { type CompiledFile, compileFile } from './files/compile.ts'

const folder = new URL('vendors/', import.meta.url)
const ending = '.yaml'

/** The names of the providers that files of the release describe. */
export const shippedNames: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith(ending))
  .map((file) => file.slice(0, -ending.length))
  .sort()

const compiled = new Map<string, CompiledFile>()

/** The text of a file of the release. */
export const shippedText = (name: string): string => readFileSync(new URL(`${name}${ending}`, folder), 'utf8')

/** A file of the release, compiled when it is first needed: most processes use few of them. */
export function shippedFile(name: string): CompiledFile | undefined {
  const known = compiled.get(name)
  if (known || !shippedNames.includes(name)) return known
  const file = compileFile(shippedText(name))
  if ('issues' in file)
    throw new Error(`The file of ${name} in this release is faulty: ${file.issues.join('; ')}`)
  compiled.set(name, file)
  return file
}
