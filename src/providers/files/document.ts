import { type ProviderForm, providerForm } from './form.ts'
import { readYaml } from './yaml.ts'

export const maxFileBytes = 256 * 1024

/** A provider's file that has the right form; or what is wrong with it, each on one line that says where. */
export type ReadFile = { form: ProviderForm; lineAt(path: string): string } | { issues: string[] }

/** Reads a provider's file. */
export function readDocument(text: string): ReadFile {
  const read = readYaml(text, {
    schema: providerForm,
    maxBytes: maxFileBytes,
    write: (path) => `: ${pointerOf(path)}`,
  })
  if ('issues' in read) return read
  return { form: read.data, lineAt: (path) => read.lineOf(path.split('/').slice(1)) }
}

export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part)}`).join('') || '/'
