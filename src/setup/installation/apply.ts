import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Installation,
  readInstallation,
  tryLockInstallation,
} from '../../../db/accounts/installation.ts'
import { type Database, inTransaction, type Transaction } from '../../../db/connection/client.ts'
import { nameKey } from '../../core/accounts/person.ts'
import { maxIssues } from '../../core/requests/issues.ts'
import { loadProviderFiles } from '../../provider-files.ts'
import { checkFile } from '../../providers/files/check/check-file.ts'
import type { CompiledFile } from '../../providers/files/compile.ts'
import { readYaml } from '../../providers/files/yaml.ts'
import type { ChannelMaking } from '../channels/channels.ts'
import { changeRole, makePerson } from '../people/people.ts'
import { setProviderFile } from '../provider-files.ts'
import { applyAccount } from './apply-account.ts'
import {
  type Applying,
  attempt,
  type Change,
  InstallationFault,
  referenced,
  referenceText,
  type Secrets,
} from './applying.ts'
import { ambiguousNames, templatesByChannel } from './describe.ts'
import { type InstallationFile, installationForm, maxInstallationBytes, pathText } from './document.ts'
import { prune } from './prune.ts'

export interface Apply extends Omit<ChannelMaking, 'db'>, Pick<Applying, 'clientNetworks'> {
  db: Database
  text: string
  secrets: Secrets
  /** Whether only to find out what it would change. */
  isPlan: boolean
  prunes: boolean
}

/** Thrown to roll the transaction of a plan back. */
class Planned extends Error {}

/**
 * Makes the installation what its file says, in one transaction: all of it or nothing. A plan does the same and rolls it back, so
 * that it finds each issue that the apply would.
 *
 * @throws InstallationFault with the issues, each with its line and path.
 */
export async function applyInstallation(apply: Apply): Promise<Change[]> {
  const read = readYaml(apply.text, {
    schema: installationForm,
    maxBytes: maxInstallationBytes,
    write: (path) => `, ${pathText(path)}`,
  })
  if ('issues' in read) throw new InstallationFault(`Fix the file: ${joined(read.issues)}`)
  const at = (path: readonly PropertyKey[]) => `${read.lineOf(path)}, ${pathText(path)}`
  const providers = await checkedProviders(read.data, at)
  let changes: Change[] = []
  try {
    await inTransaction(apply.db, async (transaction) => {
      // Compiling files, and estimating and hashing passwords, takes seconds on a busy machine.
      await transaction.execute(`set local idle_in_transaction_session_timeout = '${idleAtMostMs}ms'`)
      await waitForOthers(transaction)
      const applying = await begin(apply, transaction, read.data)
      await applyAll(applying, read.data, { providers, prunes: apply.prunes })
      const missing = [...new Set(applying.missing)]
      if (missing.length > 0)
        throw new InstallationFault(
          `These secrets of what is new are not set, so nothing was changed: ${missing.join(', ')}. Set them in the environment, or write their files`,
        )
      if (applying.issues.length > 0)
        throw new InstallationFault(
          `Nothing was changed. Fix: ${joined(applying.issues.map(({ path, message }) => `${at(path)}: ${message}`))}`,
        )
      changes = applying.changes
      if (apply.isPlan) throw new Planned()
    })
  } catch (error) {
    // The files of providers in this process are those of the transaction that is gone.
    await loadProviderFiles(apply.db)
    if (!(error instanceof Planned)) throw error
  }
  return changes
}

const joined = (issues: readonly string[]) =>
  issues.slice(0, maxIssues).join('; ') +
  (issues.length > maxIssues ? `; and ${issues.length - maxIssues} more` : '')

async function checkedProviders({ providers = {} }: InstallationFile, at: (path: PropertyKey[]) => string) {
  const checked: { content: string; file: CompiledFile }[] = []
  for (const [name, content] of Object.entries(providers)) {
    const result = await checkFile(content)
    const place = at(['providers', name])
    if ('issues' in result)
      throw new InstallationFault(
        `Nothing was changed. Fix: ${joined(result.issues.map((issue) => `${place}: ${issue}`))}`,
      )
    if (result.file.form.name !== name)
      throw new InstallationFault(
        `Nothing was changed. Fix: ${place}: its file has the name ${result.file.form.name}`,
      )
    checked.push({ content, file: result.file })
  }
  return checked
}

const idleAtMostMs = 60_000
const askEveryMs = 100
const waitAtMostMs = 60_000

/** One apply at a time: two could each create what the other creates. */
async function waitForOthers(transaction: Transaction): Promise<void> {
  for (let waitedMs = 0; !(await tryLockInstallation(transaction)); waitedMs += askEveryMs) {
    if (waitedMs >= waitAtMostMs)
      throw new InstallationFault(
        'Another apply has run for a minute: run this one again when it has ended',
        {
          isRefused: true,
        },
      )
    await sleep(askEveryMs)
  }
}

async function begin(apply: Apply, transaction: Transaction, file: InstallationFile): Promise<Applying> {
  const installation = await readInstallation(transaction)
  refuseAmbiguous(installation, file)
  const templates = templatesByChannel(installation)
  return {
    ...apply,
    db: transaction,
    installation,
    templatesOf: (channelId) => templates.get(channelId) ?? [],
    changes: [],
    issues: [],
    missing: [],
  }
}

function refuseAmbiguous(installation: Installation, { accounts = [] }: InstallationFile): void {
  const named = installation.accounts.filter(({ name }) => accounts.some((account) => account.name === name))
  const ambiguous = ambiguousNames(installation, new Set(named.map(({ id }) => id)))
  if (ambiguous.length > 0) throw new InstallationFault(ambiguousWords(ambiguous), { isRefused: true })
}

export const ambiguousWords = (ambiguous: readonly string[]): string =>
  `Names are the keys of the file, but there are several ${joined(ambiguous)}: rename or delete all but one`

interface Options {
  providers: { content: string; file: CompiledFile }[]
  prunes: boolean
}

async function applyAll(
  applying: Applying,
  file: InstallationFile,
  { providers, prunes }: Options,
): Promise<void> {
  await applyProviders(applying, providers)
  const accountIds: (string | undefined)[] = []
  for (const [index, account] of (file.accounts ?? []).entries())
    accountIds.push(await applyAccount(applying, ['accounts', index], account))
  for (const [index, person] of (file.people ?? []).entries())
    await applyPerson(applying, ['people', index], person)
  if (prunes) await prune(applying, file, accountIds)
}

async function applyProviders(applying: Applying, providers: Options['providers']): Promise<void> {
  for (const provider of providers) {
    const { name } = provider.file.form
    const stored = applying.installation.providers.find((one) => one.name === name)
    if (stored?.hash === provider.file.hash) continue
    const change = { change: stored ? 'update' : 'create', what: 'provider', name } as const
    await attempt(applying, ['providers', name], change, () =>
      setProviderFile(applying, provider, applying.keys),
    )
  }
  // Channels of this file may use them.
  await loadProviderFiles(applying.db)
}

async function applyPerson(
  applying: Applying,
  path: readonly PropertyKey[],
  { name, role, password: given }: NonNullable<InstallationFile['people']>[number],
): Promise<void> {
  const stored = applying.installation.people.find((person) => person.nameKey === nameKey(name))
  if (stored) {
    if (stored.role === role) return
    const change: Change = { change: 'update', what: 'person', name, fields: ['role'] }
    await attempt(applying, path, change, () => changeRole(applying, name, role))
    return
  }
  const password = given && referenced(given, applying.secrets)
  if (password === undefined)
    applying.missing.push(
      given ? referenceText(given) : `the password of ${name}, which the file does not name`,
    )
  else
    await attempt(applying, path, { change: 'create', what: 'person', name }, () =>
      makePerson(applying, { name, role }, password),
    )
}
