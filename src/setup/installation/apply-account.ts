import { endpointSchemas, tooManyEndpoints } from '../../core/callbacks/endpoint-request.ts'
import { describeIssue } from '../../core/requests/issues.ts'
import { fallbackCauses } from '../../core/sends/fallback.ts'
import { rateLimit } from '../../core/typed/numbers.ts'
import { type AccountChange, limitAccount, makeAccount } from '../accounts.ts'
import { changeChannel } from '../channels/channels.ts'
import { changeEndpoint, makeEndpoint } from '../endpoints.ts'
import { makeFlow } from '../flows.ts'
import { SetupFault } from '../setup-fault.ts'
import { applyChannel } from './apply-channel.ts'
import { type Applying, attempt, type Change, type Path, stable } from './applying.ts'
import { ceilingsAsked, fallbackAsked, fallbackOf } from './channel-settings.ts'
import type { AccountInFile } from './document.ts'

interface Place {
  accountId: string
  account: string
  path: Path
}

/** Creates or changes an account, and all that the file has of it. @returns its id. */
export async function applyAccount(
  applying: Applying,
  path: Path,
  wanted: AccountInFile,
): Promise<string | undefined> {
  const accountId = await applyItself(applying, path, wanted)
  if (accountId === undefined) return undefined
  const place = { accountId, account: wanted.name, path }
  const ids = new Map<string, string>()
  for (const channel of applying.installation.channels)
    if (channel.accountId === accountId) ids.set(channel.name, channel.id)
  for (const [index, channel] of (wanted.channels ?? []).entries()) {
    const id = await applyChannel(applying, { ...place, path: [...path, 'channels', index] }, channel)
    if (id !== undefined) ids.set(channel.name, id)
  }
  await applyFallbacks(applying, place, wanted, ids)
  await applyFlows(applying, place, wanted)
  await applyEndpoints(applying, place, wanted)
  return accountId
}

async function applyItself(
  applying: Applying,
  path: Path,
  wanted: AccountInFile,
): Promise<string | undefined> {
  const { name } = wanted
  const found = applying.installation.accounts.find((account) => account.name === name)
  const limit =
    wanted.rateLimit === undefined
      ? undefined
      : wanted.rateLimit === null
        ? null
        : rateLimit(wanted.rateLimit)
  const ceiling = wanted.ceilings && ceilingsAsked(wanted.ceilings)
  if (!found) {
    let id: string | undefined
    await attempt(applying, path, { change: 'create', what: 'account', name }, async () => {
      const made = await makeAccount(applying, { name, rateLimit: limit ?? undefined, ceiling })
      id = made.accountId
    })
    return id
  }
  const { id, points, seconds, ceilings } = found
  const present = points === null || seconds === null ? null : { points, seconds }
  const change: AccountChange = {
    ...(limit !== undefined && stable(present) !== stable(limit) && { rateLimit: limit }),
    ...(ceiling && stable(ceilings?.toSorted() ?? []) !== stable(wanted.ceilings) && { ceiling }),
  }
  const fields = Object.keys(change).map((field) => (field === 'ceiling' ? 'ceilings' : field))
  if (fields.length > 0)
    await attempt(applying, path, { change: 'update', what: 'account', name, fields }, () =>
      limitAccount(applying, id, change),
    )
  return id
}

/** Removes fallbacks before it adds some: a channel that leaves a chain may let another one in. */
async function applyFallbacks(
  applying: Applying,
  { account, path }: Place,
  { channels = [] }: AccountInFile,
  ids: ReadonlyMap<string, string>,
): Promise<void> {
  const names = new Map([...ids].map(([name, id]) => [id, name]))
  const given = channels.map((channel, index) => ({
    ...channel,
    at: [...path, 'channels', index, 'fallback'],
  }))
  const [none, some] = [
    given.filter(({ fallback }) => fallback === null),
    given.filter(({ fallback }) => fallback),
  ]
  for (const { name, fallback, at } of [...none, ...some]) {
    const id = ids.get(name)
    if (id === undefined || fallback === undefined) continue
    const stored = applying.installation.channels.find((channel) => channel.id === id)
    const present = stored ? fallbackOf(stored, (channelId) => names.get(channelId)) : null
    if (stable(present) === stable(fallback)) continue
    const target = fallback && ids.get(fallback.channel)
    if (fallback && target === undefined) {
      if (channels.some((channel) => channel.name === fallback.channel)) continue
      applying.issues.push({ path: at, message: `${account} has no channel named ${fallback.channel}` })
      continue
    }
    const asked =
      fallback && target ? fallbackAsked(fallback, target, [...fallbackCauses]) : { fallback: 'none' }
    const change: Change = {
      change: 'update',
      what: 'channel',
      name: `${account} / ${name}`,
      fields: ['fallback'],
    }
    await attempt(applying, at, change, () => changeChannel(applying, { id, asked }))
  }
}

async function applyFlows(
  applying: Applying,
  { accountId, account, path }: Place,
  { flows = [] }: AccountInFile,
) {
  const present = applying.installation.flows.filter((flow) => flow.accountId === accountId)
  for (const [index, name] of flows.entries()) {
    if (present.some((flow) => flow.name === name)) continue
    const change = { change: 'create', what: 'flow', name: `${account} / ${name}` } as const
    await attempt(applying, [...path, 'flows', index], change, () => makeFlow(applying, accountId, name))
  }
}

async function applyEndpoints(
  applying: Applying,
  { accountId, account, path }: Place,
  { endpoints = [] }: AccountInFile,
): Promise<void> {
  const schema = endpointSchemas(applying.clientNetworks()).create
  for (const [index, given] of endpoints.entries()) {
    const at = [...path, 'endpoints', index]
    const { success, data: wanted, error } = schema.safeParse(given, { error: describeIssue })
    if (!success) {
      for (const issue of error.issues)
        applying.issues.push({ path: [...at, ...issue.path], message: issue.message })
      continue
    }
    const stored = applying.installation.endpoints.find(
      (endpoint) => endpoint.accountId === accountId && endpoint.url === wanted.url,
    )
    if (stored && stable(stored.events?.toSorted() ?? null) === stable(wanted.events)) continue
    const name = `${account} / ${new URL(wanted.url).host}`
    if (stored)
      await attempt(applying, at, { change: 'update', what: 'endpoint', name, fields: ['events'] }, () =>
        changeEndpoint(applying, stored.id, { events: wanted.events }),
      )
    else
      await attempt(applying, at, { change: 'create', what: 'endpoint', name }, async () => {
        const made = await makeEndpoint(applying, { accountId, ...wanted }, applying.sealing().key)
        if (!made) throw new SetupFault('endpoints', tooManyEndpoints)
      })
  }
}
