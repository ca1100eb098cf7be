import { unfinishedOfChannel } from '../../../db/accounts/installation.ts'
import { findEndpoint } from '../../../db/callbacks/endpoints.ts'
import { inTransaction } from '../../../db/connection/client.ts'
import { nameKey } from '../../core/accounts/person.ts'
import { endChannel } from '../channels/channels.ts'
import { endTemplate } from '../channels/templates.ts'
import { endEndpoint } from '../endpoints.ts'
import { endFlow } from '../flows.ts'
import { endPerson } from '../people/people.ts'
import { removeProviderFile } from '../provider-files.ts'
import { SetupFault, unfinishedSends } from '../setup-fault.ts'
import { type Applying, attempt, type Path } from './applying.ts'
import type { AccountInFile, ChannelInFile, InstallationFile } from './document.ts'

/**
 * Removes what the lists of the file don't have; of a list that the file leaves out, nothing. Accounts stay in any case.
 *
 * @param accountIds of the accounts in the file, in its order.
 */
export async function prune(
  applying: Applying,
  file: InstallationFile,
  accountIds: readonly (string | undefined)[],
): Promise<void> {
  for (const [index, account] of (file.accounts ?? []).entries()) {
    const accountId = accountIds[index]
    if (accountId !== undefined) await pruneAccount(applying, ['accounts', index], accountId, account)
  }
  const { providers, people } = file
  for (const { name } of applying.installation.providers) {
    if (!providers || Object.hasOwn(providers, name)) continue
    await attempt(applying, ['providers'], { change: 'remove', what: 'provider', name }, () =>
      removeProviderFile(applying, name),
    )
  }
  for (const { name, nameKey: key } of applying.installation.people) {
    if (!people || people.some((person) => nameKey(person.name) === key)) continue
    await attempt(applying, ['people'], { change: 'remove', what: 'person', name }, () =>
      endPerson(applying, name),
    )
  }
}

async function pruneAccount(applying: Applying, path: Path, accountId: string, account: AccountInFile) {
  const own = <Item extends { accountId: string }>(items: Item[]) =>
    items.filter((item) => item.accountId === accountId)
  const label = (name: string) => `${account.name} / ${name}`
  await pruneChannels(applying, [...path, 'channels'], own(applying.installation.channels), account)
  for (const { id, name } of own(applying.installation.flows)) {
    if (!account.flows || account.flows.includes(name)) continue
    const change = { change: 'remove', what: 'flow', name: label(name) } as const
    await attempt(applying, [...path, 'flows'], change, async () => {
      const ended = await endFlow(applying, id)
      if (typeof ended === 'object') throw unfinished('flow', change.name, ended.unfinished)
    })
  }
  for (const { id, url } of own(applying.installation.endpoints)) {
    if (!account.endpoints || account.endpoints.some((endpoint) => endpoint.url === url)) continue
    const change = { change: 'remove', what: 'endpoint', name: label(new URL(url).host) } as const
    await attempt(applying, [...path, 'endpoints'], change, async () => {
      const waiting = (await findEndpoint(applying.db, id))?.waiting ?? 0
      if (waiting > 0)
        throw new SetupFault(
          'endpoints',
          `the endpoint ${change.name} has ${waiting} callbacks that wait: let them be called, or run outbound endpoint delete ${id}`,
        )
      await endEndpoint(applying, id)
    })
  }
}

async function pruneChannels(
  applying: Applying,
  path: Path,
  stored: Applying['installation']['channels'],
  { name: account, channels }: AccountInFile,
): Promise<void> {
  for (const { id, name } of stored) {
    const label = `${account} / ${name}`
    const index = channels?.findIndex((channel) => channel.name === name) ?? -1
    const wanted = channels?.[index]
    if (wanted) await pruneTemplates(applying, { path: [...path, index], label, channelId: id, wanted })
    else if (channels)
      await attempt(applying, path, { change: 'remove', what: 'channel', name: label }, () =>
        removeChannel(applying, id, label),
      )
  }
}

async function removeChannel(applying: Applying, id: string, label: string): Promise<void> {
  await inTransaction(applying.db, async (transaction) => {
    const waiting = await unfinishedOfChannel(transaction, id)
    if (waiting > 0) throw unfinished('channel', label, waiting)
    const deletion = await endChannel({ ...applying, db: transaction }, id)
    if (deletion && 'sending' in deletion) throw unfinished('channel', label, deletion.sending)
  })
}

interface Templates {
  path: Path
  label: string
  channelId: string
  wanted: ChannelInFile
}

async function pruneTemplates(
  applying: Applying,
  { path, label, channelId, wanted }: Templates,
): Promise<void> {
  for (const { name } of applying.templatesOf(channelId)) {
    if (!wanted.templates || Object.hasOwn(wanted.templates, name)) continue
    const change = { change: 'remove', what: 'template', name: `${label} / ${name}` } as const
    await attempt(applying, [...path, 'templates'], change, () => endTemplate(applying, channelId, name))
  }
}

const unfinished = (what: string, name: string, count: number) =>
  new SetupFault(
    what,
    `the ${what} ${name} has ${unfinishedSends(count)}: cancel them or let them end, or apply without --prune`,
  )
