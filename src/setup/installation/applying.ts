import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Installation } from '../../../db/accounts/installation.ts'
import type { Network } from '../../core/requests/public-address.ts'
import type { ChannelMaking } from '../channels/channels.ts'
import { SetupFault } from '../setup-fault.ts'
import type { Reference } from './document.ts'

/** One thing that an apply creates, changes or removes. */
export interface Change {
  change: 'create' | 'update' | 'remove'
  what: 'provider' | 'account' | 'channel' | 'template' | 'flow' | 'endpoint' | 'person'
  /** Its name, after those of what it belongs to: `Acme / SMS`. */
  name: string
  /** The fields that an update changes, without their values, which may be secrets. */
  fields?: string[]
}

/** Why a file can't be applied: nothing was changed. */
export class InstallationFault extends Error {
  /** Whether the installation forbids it, not the file. */
  readonly isRefused: boolean

  constructor(message: string, { isRefused = false } = {}) {
    super(message)
    this.isRefused = isRefused
  }
}

export type Path = readonly PropertyKey[]

/** Where the secrets are that a file names. */
export interface Secrets {
  environment: Readonly<Record<string, string | undefined>>
  /** Paths are relative to it. */
  folder: string
}

/** An apply under way. */
export interface Applying extends ChannelMaking {
  /** What is there before. */
  installation: Installation
  /** The templates of a channel by then. */
  templatesOf(channelId: string): readonly { name: string; definition: object }[]
  /** The private networks that endpoints may be in. */
  clientNetworks(): readonly Network[]
  secrets: Secrets
  changes: Change[]
  issues: { path: Path; message: string }[]
  /** Secrets that something new needs. */
  missing: string[]
}

/** Makes one change. One that can't be made is an issue at its path; the others are still tried, so that all issues are known. */
export async function attempt(
  applying: Applying,
  path: Path,
  change: Change,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work()
    applying.changes.push(change)
  } catch (error) {
    if (!(error instanceof SetupFault)) throw error
    applying.issues.push({ path, message: error.message })
  }
}

/**
 * What the reference leads to; undefined if that isn't set.
 *
 * @throws InstallationFault for a file that is there and can't be read.
 */
export function referenced(given: Reference, { environment, folder }: Secrets): string | undefined {
  if ('env' in given) return environment[given.env] || undefined
  try {
    return readFileSync(resolve(folder, given.file), 'utf8').replace(/\r?\n$/, '') || undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new InstallationFault(
      `Nothing was changed: can't read the secret ${given.file} (${code}); make it a file that this user may read`,
    )
  }
}

export const referenceText = (given: Reference): string => ('env' in given ? given.env : given.file)

/** A text that is equal for objects whose keys are in another order. */
export const stable = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
