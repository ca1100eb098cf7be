import type { Provider } from './define-provider.ts'
import type { CompiledFile } from './files/compile.ts'
import { providers as coded, providerNames as codedNames } from './index.ts'
import { shippedFile, shippedNames } from './shipped.ts'

/**
 * The providers that this process knows: those in code, those of an operator's files, and those of the files of the release. An
 * operator's file replaces one of the release. The files are kept up to date by src/provider-files.ts.
 */
let ofOperator: ReadonlyMap<string, CompiledFile> = new Map()

/** Replaces the operator's files. A send in flight goes on with the provider that it has begun with. */
export function setOperatorFiles(files: ReadonlyMap<string, CompiledFile>): void {
  ofOperator = files
}

export const isCoded = (name: string): name is keyof typeof coded => Object.hasOwn(coded, name)

export const fileOf = (name: string): CompiledFile | undefined => ofOperator.get(name) ?? shippedFile(name)

/** Undefined if no provider has the name: its file was removed, or is not here yet. */
export const findProvider = (name: string): Provider | undefined =>
  isCoded(name) ? coded[name] : fileOf(name)?.provider

/** @throws if no provider has the name. */
export function providerOf(name: string): Provider {
  const provider = findProvider(name)
  if (provider) return provider
  throw new Error(`No provider is named ${name}: set its file with outbound provider set --file FILE`)
}

/** All names, sorted. */
export const knownNames = (): string[] =>
  [...new Set([...codedNames, ...ofOperator.keys(), ...shippedNames])].sort()
