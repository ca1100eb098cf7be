import { v7 as uuidv7 } from 'uuid'
import {
  type ChannelFields,
  createChannel,
  findChannel,
  holdChannel,
  knowsZone,
  readChannelFields,
  resumeChannel,
  updateChannel,
} from '../../../db/accounts/channels.ts'
import { type Deletion, deleteChannel } from '../../../db/accounts/deleted-channels.ts'
import { type ChannelOfChain, inChains } from '../../../db/accounts/fallbacks.ts'
import { holdFile } from '../../../db/accounts/provider-files.ts'
import { audited, recordAudit } from '../../../db/audit/record.ts'
import { type Database, inTransaction, type Transaction } from '../../../db/connection/client.ts'
import type { AuditDetail } from '../../core/accounts/audit.ts'
import { changedDetails } from '../../core/accounts/audit-details.ts'
import { type QuietHours, quietHoursText } from '../../core/channels/quiet-hours.ts'
import type { ShownConfig } from '../../core/channels/shown-config.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { heldByOperator } from '../../core/sends/own-reasons.ts'
import { isCoded, providerOf } from '../../providers/known.ts'
import { shippedNames } from '../../providers/shipped.ts'
import { ceilingDetails, changeCeilings } from '../ceilings.ts'
import type { Making } from '../making.ts'
import { SetupFault } from '../setup-fault.ts'
import { type ConfigIssues, type Sealing, sealedConfigOf } from './channel-config.ts'
import { type ChannelChange, checkOneClick, fieldsOf } from './channel-fields.ts'
import {
  type ConfigKeys,
  changesFallback,
  type FallbackChange,
  fallbackFields,
  fallbackWarnings,
} from './fallbacks.ts'

/** What channels are set up with. */
export interface ChannelMaking extends Making {
  /** Read only where a config is sealed. */
  sealing(): Sealing
  /** Read only where there is a fallback. */
  keys(): ConfigKeys
}

type Asked = ChannelChange & FallbackChange

export interface NewChannel {
  accountId: string
  provider: string
  config: unknown
  asked: Asked & { name: string }
}

export type ChannelMade = { channelId: string; warnings: string[] } | { issues: ConfigIssues }

/**
 * Creates a channel, which works at once. The warnings name messages that its fallback can't send.
 *
 * @throws SetupFault if something else than its config can't be used.
 */
export async function makeChannel(
  making: ChannelMaking,
  { accountId, provider, config, asked }: NewChannel,
): Promise<ChannelMade> {
  const { db, actor } = making
  checkOneClick(asked, provider)
  const id = uuidv7()
  const sealed = sealedConfigOf(provider, config, id, making.sealing())
  if ('issues' in sealed) return sealed
  const { onUncertain = providerOf(provider).onUncertain, ordering = 'contact', name } = asked
  const fields = { ...fieldsOf(asked), ...sealed, name, onUncertain, ordering }
  await checkQuietZone(db, fields)
  return await inChainsIf(making, asked, accountId, async (transaction, channels) => {
    const withFallback = { ...fields, ...(changesFallback(asked) && fallbackFields(id, asked, channels)) }
    await holdProvider(transaction, provider)
    await createChannel(transaction, { id, accountId, provider, ...withFallback })
    await changeCeilings(transaction, { ownerId: id, accountId }, asked.ceiling)
    const settings = { ...detailsOf(withFallback), ...ceilingDetails(asked.ceiling) }
    const details = { accountId, provider, ...settings, config: 'set' }
    await recordAudit(transaction, { ...actor, action: 'channel.create', target: id, details })
    const { sealedConfig } = sealed
    const { fallbackChannelId = null } = withFallback
    const chained = { channelId: id, name, provider, sealedConfig, fallbackChannelId }
    return { channelId: id, warnings: await warningsOf(making, transaction, chained, channels) }
  })
}

/** A change of a channel. `config` replaces the whole one. */
export interface ChangedChannel {
  id: string
  config?: unknown
  asked: Asked
}

/**
 * Changes a channel. What isn't asked for, stays.
 *
 * @returns undefined if there is no such channel; `unchanged` if nothing was asked for.
 * @throws SetupFault if something else than its config can't be used.
 */
export async function changeChannel(
  making: ChannelMaking,
  { id: given, config, asked }: ChangedChannel,
): Promise<ChannelMade | 'unchanged' | undefined> {
  const { db, actor } = making
  const id = given.toLowerCase()
  const channel = canBeRecordId(id) ? await findChannel(db, id) : undefined
  if (!channel) return undefined
  checkOneClick(asked, channel.provider)
  const sealed =
    config === undefined ? undefined : sealedConfigOf(channel.provider, config, id, making.sealing())
  if (sealed && 'issues' in sealed) return sealed
  const changes = { ...fieldsOf(asked, channel.quietHours), ...sealed }
  await checkQuietZone(db, changes)
  const isUnchanged = Object.keys(changes).length === 0 && asked.ceiling === undefined
  if (isUnchanged && !changesFallback(asked)) return 'unchanged'
  return await inChainsIf(making, asked, channel.accountId, async (transaction, channels) => {
    const fields = { ...changes, ...(changesFallback(asked) && fallbackFields(id, asked, channels)) }
    const before = (await readChannelFields(transaction, id)) ?? {}
    await updateChannel(transaction, id, fields)
    await changeCeilings(transaction, { ownerId: id, accountId: channel.accountId }, asked.ceiling)
    const after = { ...detailsOf(fields), ...ceilingDetails(asked.ceiling) }
    const details = {
      ...changedDetails(detailsOf(before), after),
      ...(sealed && { config: 'set' }),
    }
    await recordAudit(transaction, { ...actor, action: 'channel.update', target: id, details })
    const found = channels.find(({ channelId }) => channelId === id)
    const warnings = found ? await warningsOf(making, transaction, { ...found, ...fields }, channels) : []
    return { channelId: id, warnings }
  })
}

/** In a transaction; where the fallback is changed, with all channels of the account at hand. */
function inChainsIf<Result>(
  { db }: Making,
  asked: Asked,
  accountId: string,
  work: (transaction: Transaction, channels: ChannelOfChain[]) => Promise<Result>,
): Promise<Result> {
  return changesFallback(asked)
    ? inChains(db, accountId, work)
    : inTransaction(db, (transaction) => work(transaction, []))
}

const warningsOf = (
  { keys }: ChannelMaking,
  transaction: Transaction,
  channel: ChannelOfChain,
  channels: readonly ChannelOfChain[],
) => (channels.length === 0 ? [] : fallbackWarnings(transaction, keys(), channel, channels))

async function checkQuietZone(
  db: Database | Transaction,
  { quietHours }: Partial<ChannelFields>,
): Promise<void> {
  if (!quietHours || (await knowsZone(db, quietHours.zone))) return
  throw new SetupFault('quietZone', `PostgreSQL knows no zone ${quietHours.zone}: use another name of it`)
}

/** The settings for the audit; of the config only what pages show. */
function detailsOf({
  sealedConfig: _,
  expectsReceipts: _receipts,
  shownConfig,
  quietHours,
  ...fields
}: Partial<Readonly<Record<keyof ChannelFields | 'ceilings', unknown>>>): Record<string, AuditDetail> {
  const config = Object.entries((shownConfig ?? {}) as ShownConfig)
  return {
    ...(fields as Record<string, AuditDetail>),
    ...(quietHours !== undefined && {
      quietHours: quietHours ? quietHoursText(quietHours as QuietHours) : null,
    }),
    ...Object.fromEntries(config.map(([name, value]) => [`config.${name}`, value])),
  }
}

/** An operator's file isn't removed while a channel is made that uses it. */
async function holdProvider(transaction: Transaction, provider: string): Promise<void> {
  const isHeld =
    isCoded(provider) || (await holdFile(transaction, provider)) || shippedNames.includes(provider)
  if (!isHeld) throw new SetupFault('provider', `The file of ${provider} was removed; set it again`)
}

/** Holds or resumes a channel. @returns whether there is such a channel. */
export async function switchChannel(
  { db, actor }: Making,
  verb: 'hold' | 'resume',
  id: string,
  reason: string | undefined,
): Promise<boolean> {
  const row = {
    ...actor,
    action: `channel.${verb}`,
    target: id,
    details: { ...(reason !== undefined && { reason }) },
  } as const
  return (
    canBeRecordId(id) &&
    (await audited(
      db,
      (transaction) =>
        verb === 'hold'
          ? holdChannel(transaction, id, heldByOperator(reason))
          : resumeChannel(transaction, id),
      (isThere) => isThere && row,
    ))
  )
}

/** Deletes a channel for good. @returns undefined if there is no such channel. */
export async function endChannel({ db, actor }: Making, id: string): Promise<Deletion | undefined> {
  if (!canBeRecordId(id)) return undefined
  const row = { ...actor, action: 'channel.delete', target: id } as const
  return await deleteChannel(db, id, (transaction) => recordAudit(transaction, row))
}
