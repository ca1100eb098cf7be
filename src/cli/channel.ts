import type { Command } from 'commander'
import { v7 as uuidv7 } from 'uuid'
import {
  type ChannelFields,
  createChannel,
  findChannel,
  holdChannel,
  knowsZone,
  listChannels,
  resumeChannel,
  updateChannel,
} from '../../db/accounts/channels.ts'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import { inChains } from '../../db/accounts/fallbacks.ts'
import { holdFile } from '../../db/accounts/provider-files.ts'
import { audited, recordAudit } from '../../db/audit/record.ts'
import type { Database, Transaction } from '../../db/connection/client.ts'
import { readChannels } from '../../db/overview/channels.ts'
import type { AuditDetail, AuditRow } from '../core/accounts/audit.ts'
import { weakConfigIssue } from '../core/accounts/weak-secret.ts'
import { addressIssue } from '../core/channels/config-address.ts'
import { plainWarning } from '../core/channels/plain-channel.ts'
import type { QuietHours } from '../core/channels/quiet-hours.ts'
import { sealConfig } from '../core/channels/sealed-config.ts'
import { type ShownConfig, shownConfig } from '../core/channels/shown-config.ts'
import { expectsReceipts } from '../core/receipts/receipt.ts'
import { describeIssue, describeIssues } from '../core/requests/issues.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { nothingThere } from '../core/sends/left-out.ts'
import { heldByOperator } from '../core/sends/own-reasons.ts'
import { findProvider, isCoded, knownNames, providerOf } from '../providers/known.ts'
import { shippedNames } from '../providers/shipped.ts'
import { type Answerer, type CliContext, CliError, renderWith } from './answer.ts'
import { existingAccount, operatorsWords } from './arguments.ts'
import {
  addQuietOptions,
  autoSuppressOption,
  type ChannelOptions,
  checkOneClick,
  countriesOption,
  expireAfterOption,
  fieldsOf,
  maxInFlightOption,
  oneClickOption,
  onUncertainOption,
  orderingOption,
  rateOption,
} from './channel-options.ts'
import {
  addFallbackOptions,
  type FallbackOptions,
  fallbackDetails,
  fallbackFields,
  fallbackWarnings,
  hasFallbackOptions,
} from './fallback-options.ts'
import { givenJson } from './given-json.ts'
import { name } from './name.ts'

export function channelCommands(program: Command, answer: Answerer): void {
  const channel = program.command('channel')
  createCommand(channel, answer)
  updateCommand(channel, answer)
  holdCommands(channel, answer)
  deleteCommand(channel, answer)
  channel
    .command('list')
    .requiredOption('--account <id>', 'the account that owns the channels')
    .action((options: { account: string }, command: Command) =>
      answer(command, async ({ db, setting }) => {
        const channels = await listChannels(db, await existingAccount(db, options.account))
        const networks = setting('ALLOWED_PRIVATE_NETWORKS')
        return {
          channels: channels.map(({ shownConfig, ...channel }) => {
            const warning = plainWarning(shownConfig, networks)
            return { ...channel, ...(warning !== undefined && { warning }) }
          }),
        }
      }),
    )
}

function createCommand(channel: Command, answer: Answerer): void {
  addQuietOptions(addFallbackOptions(channel.command('create')))
    .requiredOption('--account <id>', 'the account that owns the channel')
    .requiredOption('--provider <name>', 'the provider that takes its messages; see: outbound provider list')
    .requiredOption('--name <name>', 'a name to recognise it by', name)
    .requiredOption(
      '--config <json>',
      "the provider's config, as @FILE, - for stdin, or JSON; {} for the sandbox",
      givenJson('--config'),
    )
    .addOption(onUncertainOption())
    .addOption(orderingOption())
    .option(...expireAfterOption)
    .option(...rateOption)
    .option(...maxInFlightOption)
    .option(...autoSuppressOption)
    .addOption(oneClickOption())
    .option(...countriesOption)
    .action((options: NewChannelOptions, command: Command) =>
      answer(command, async (context) => {
        const { db, actor } = context
        const { provider } = options
        if (!findProvider(provider))
          throw new CliError(
            'usage',
            `No provider is named ${provider}: use one of ${knownNames().join(', ')}`,
          )
        checkOneClick(options, provider)
        const accountId = await existingAccount(db, options.account)
        const id = uuidv7()
        const sealed = seal(provider, options.config, id, context)
        const onUncertain = options.onUncertain ?? providerOf(provider).onUncertain
        const { name, ordering = 'contact' } = options
        const fields = { ...fieldsOf(options), name, ...sealed, onUncertain, ordering }
        await checkQuietZone(db, fields)
        const channel = { id, accountId, provider, ...fields }
        const row = {
          ...actor,
          action: 'channel.create',
          target: id,
          details: { accountId, provider, ...detailsOf(options) },
        } as const
        if (hasFallbackOptions(options)) return await createWithFallback(context, { channel, row }, options)
        await audited(
          db,
          async (transaction) => {
            await holdProvider(transaction, provider)
            await createChannel(transaction, channel)
          },
          () => row,
        )
        return { channelId: id }
      }),
    )
}

function updateCommand(channel: Command, answer: Answerer): void {
  addQuietOptions(addFallbackOptions(channel.command('update')))
    .argument('<channel>', "the channel's id")
    .option('--name <name>', 'a name to recognise it by', name)
    .option(
      '--config <json>',
      "the provider's whole config, which replaces the current one, as @FILE, - for stdin, or JSON",
      givenJson('--config'),
    )
    .addOption(onUncertainOption())
    .addOption(orderingOption())
    .option(...expireAfterOption)
    .option(...rateOption)
    .option(...maxInFlightOption)
    .option(...autoSuppressOption)
    .addOption(oneClickOption())
    .option(...countriesOption)
    .action((id: string, options: Partial<ChannelOptions> & FallbackOptions, command: Command) =>
      answer(command, async (context) => {
        const { db, actor } = context
        const { config } = options
        const channel = canBeRecordId(id) ? await findChannel(db, id) : undefined
        if (!channel) throw noChannel(id)
        checkOneClick(options, channel.provider)
        const sealed = config === undefined ? {} : seal(channel.provider, config, id, context)
        const changes = { ...fieldsOf(options, channel.quietHours), ...sealed }
        await checkQuietZone(db, changes)
        const details = detailsOf(options, channel.quietHours)
        const row = { ...actor, action: 'channel.update', target: id, details } as const
        if (hasFallbackOptions(options)) {
          const change = { id: id.toLowerCase(), accountId: channel.accountId, changes, row }
          return await updateWithFallback(context, change, options)
        }
        if (Object.keys(changes).length === 0)
          throw new CliError('usage', 'Nothing to change; see: outbound channel update --help')
        await audited(
          db,
          (transaction) => updateChannel(transaction, id, changes),
          () => row,
        )
        return { channelId: id }
      }),
    )
}

async function checkQuietZone(db: Database, { quietHours }: Partial<ChannelFields>): Promise<void> {
  if (!quietHours || (await knowsZone(db, quietHours.zone))) return
  throw new CliError('usage', `PostgreSQL knows no zone ${quietHours.zone}: use another name of it`)
}

type NewChannelOptions = ChannelOptions & FallbackOptions & { account: string; provider: string }

/** The id of a channel, and what its fallback can't send, if there is something. */
const withWarnings = (channelId: string, warnings: readonly string[]) => ({
  channelId,
  ...(warnings.length > 0 && { warnings }),
})

function createWithFallback(
  context: CliContext,
  { channel, row }: { channel: Parameters<typeof createChannel>[1]; row: AuditRow },
  options: FallbackOptions,
) {
  const { id, accountId, provider, name, sealedConfig } = channel
  return inChains(context.db, accountId, async (transaction, channels) => {
    const fields = fallbackFields(id, options, channels)
    await holdProvider(transaction, provider)
    await createChannel(transaction, { ...channel, ...fields })
    await recordAudit(transaction, row)
    const { fallbackChannelId = null } = fields
    const chained = { channelId: id, name, provider, sealedConfig, fallbackChannelId }
    return withWarnings(id, await fallbackWarnings(transaction, context, chained, channels))
  })
}

interface Change {
  id: string
  accountId: string
  changes: Partial<ChannelFields>
  row: AuditRow
}

function updateWithFallback(
  context: CliContext,
  { id, accountId, changes, row }: Change,
  options: FallbackOptions,
) {
  return inChains(context.db, accountId, async (transaction, channels) => {
    const fields = { ...changes, ...fallbackFields(id, options, channels) }
    await updateChannel(transaction, id, fields)
    await recordAudit(transaction, row)
    const channel = channels.find(({ channelId }) => channelId === id)
    const warnings = channel
      ? await fallbackWarnings(transaction, context, { ...channel, ...fields }, channels)
      : []
    return withWarnings(id, warnings)
  })
}

function holdCommands(channel: Command, answer: Answerer): void {
  channel
    .command('hold')
    .description('stop sending by the channel; its sends wait until it is resumed')
    .argument('<channel>', "the channel's id")
    .option('--reason <text>', 'why; its account sees it too', operatorsWords)
    .action((id: string, { reason }: { reason?: string }, command: Command) =>
      answer(command, async ({ db, actor }) => {
        const isHeld =
          canBeRecordId(id) &&
          (await audited(
            db,
            (transaction) => holdChannel(transaction, id, heldByOperator(reason)),
            (isThere) =>
              isThere && {
                ...actor,
                action: 'channel.hold',
                target: id,
                details: { ...(reason && { reason }) },
              },
          ))
        if (isHeld) return { channelId: id }
        throw noChannel(id)
      }),
    )
  channel
    .command('resume')
    .description('send by the channel again')
    .argument('<channel>', "the channel's id")
    .option('--reason <text>', 'why, for the audit', operatorsWords)
    .action((id: string, { reason }: { reason?: string }, command: Command) =>
      answer(command, async ({ db, actor }) => {
        const isResumed =
          canBeRecordId(id) &&
          (await audited(
            db,
            (transaction) => resumeChannel(transaction, id),
            (isThere) =>
              isThere && {
                ...actor,
                action: 'channel.resume',
                target: id,
                details: { ...(reason && { reason }) },
              },
          ))
        if (isResumed) return { channelId: id }
        throw noChannel(id)
      }),
    )
}

function deleteCommand(channel: Command, answer: Answerer): void {
  channel
    .command('delete')
    .description('delete the channel for good; its waiting sends fail, and past sends keep their timelines')
    .argument('<channel>', "the channel's id")
    .action((id: string, _options: object, command: Command) =>
      answer(
        command,
        async ({ db, actor }) => {
          const row = { ...actor, action: 'channel.delete', target: id } as const
          const deletion = canBeRecordId(id)
            ? await deleteChannel(db, id, (transaction) => recordAudit(transaction, row))
            : undefined
          if (!deletion) throw await deletedOrNone(db, id)
          if ('failed' in deletion) return { channelId: id, failed: deletion.failed }
          const { sending } = deletion
          throw new CliError(
            'refused',
            `${sending} of its sends ${sending === 1 ? 'is' : 'are'} being sent: run outbound channel hold ${id}, and delete the channel when they have ended`,
          )
        },
        (deleted) => renderWith(deleted, deleted.failed === 0 ? nothingThere.delete : ''),
      ),
    )
}

async function deletedOrNone(db: Database, id: string): Promise<CliError> {
  const [channel] = canBeRecordId(id) ? await readChannels(db, [id]) : []
  if (!channel?.deletedAt) return noChannel(id)
  return new CliError('not_found', `No channel ${id}: it was deleted at ${channel.deletedAt.toISOString()}`)
}

/** The settings that were set; of the config only that it was. */
const detailsOf = (
  { config, ...options }: Partial<ChannelOptions> & FallbackOptions,
  before: QuietHours | null = null,
) => ({
  ...(fieldsOf(options, before) as Record<string, AuditDetail>),
  ...fallbackDetails(options),
  ...(config !== undefined && { config: 'set' }),
})

/** An operator's file isn't removed while a channel is made that uses it. */
async function holdProvider(transaction: Transaction, provider: string): Promise<void> {
  const isHeld =
    isCoded(provider) || (await holdFile(transaction, provider)) || shippedNames.includes(provider)
  if (!isHeld) throw new CliError('not_found', `The file of ${provider} was removed; set it again`)
}

function noChannel(id: string): CliError {
  return new CliError('not_found', `No channel ${id}; see them with: outbound channel list --account ID`)
}

function seal(
  provider: string,
  config: unknown,
  channelId: string,
  { setting, isProduction }: Pick<CliContext, 'setting' | 'isProduction'>,
): { sealedConfig: string; shownConfig: ShownConfig; expectsReceipts: boolean } {
  const key = setting('CREDENTIALS_KEY')
  const rules = providerOf(provider)
  const parsed = rules.config.safeParse(config, { error: describeIssue })
  if (!parsed.success) {
    throw new CliError('usage', `Fix --config for ${provider}: ${describeIssues(parsed.error.issues)}`)
  }
  const issue =
    addressIssue(parsed.data as object, setting('ALLOWED_PRIVATE_NETWORKS')) ??
    (isProduction ? weakConfigIssue(parsed.data as object) : undefined)
  if (issue) throw new CliError('usage', `Fix --config for ${provider}: ${issue}`)
  return {
    sealedConfig: sealConfig(parsed.data, channelId, key),
    shownConfig: shownConfig(parsed.data as object, rules.shownFields),
    expectsReceipts: expectsReceipts(rules.receipts, parsed.data),
  }
}
