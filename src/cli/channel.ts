import { type Command, Option } from 'commander'
import { v7 as uuidv7 } from 'uuid'
import {
  type ChannelFields,
  createChannel,
  findChannel,
  holdChannel,
  listChannels,
  resumeChannel,
  updateChannel,
} from '../../db/accounts/channels.ts'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import { inChains } from '../../db/accounts/fallbacks.ts'
import { addressIssue } from '../core/config-address.ts'
import { describeIssue, describeIssues } from '../core/issues.ts'
import { heldByOperator } from '../core/own-reasons.ts'
import type { ProviderRules } from '../core/provider.ts'
import { type ProviderName, providerNames, providerRules } from '../core/providers/index.ts'
import { expectsReceipts } from '../core/receipt.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { sealConfig } from '../core/sealed-config.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { existingAccount, json, name } from './arguments.ts'
import {
  autoSuppressOption,
  type ChannelOptions,
  expireAfterOption,
  fieldsOf,
  maxInFlightOption,
  onUncertainOption,
  orderingOption,
  rateOption,
} from './channel-options.ts'
import {
  addFallbackOptions,
  type FallbackOptions,
  fallbackFields,
  fallbackWarnings,
  hasFallbackOptions,
} from './fallback-options.ts'

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
      answer(command, async ({ db }) => ({
        channels: await listChannels(db, await existingAccount(db, options.account)),
      })),
    )
}

function createCommand(channel: Command, answer: Answerer): void {
  addFallbackOptions(channel.command('create'))
    .requiredOption('--account <id>', 'the account that owns the channel')
    .addOption(
      new Option('--provider <name>', 'the provider that takes its messages')
        .choices(providerNames)
        .makeOptionMandatory(),
    )
    .requiredOption('--name <name>', 'a name to recognise it by', name)
    .requiredOption('--config <json>', "the provider's config; {} for the sandbox", json('--config'))
    .addOption(onUncertainOption())
    .addOption(orderingOption())
    .option(...expireAfterOption)
    .option(...rateOption)
    .option(...maxInFlightOption)
    .option(...autoSuppressOption)
    .action((options: NewChannelOptions, command: Command) =>
      answer(command, async (context) => {
        const { db, setting } = context
        const { provider } = options
        const accountId = await existingAccount(db, options.account)
        const id = uuidv7()
        const sealed = seal(provider, options.config, id, setting)
        const onUncertain = options.onUncertain ?? providerRules[provider].onUncertain
        const { name, ordering = 'contact' } = options
        const fields = { ...fieldsOf(options), name, ...sealed, onUncertain, ordering }
        const channel = { id, accountId, provider, ...fields }
        if (!hasFallbackOptions(options)) await createChannel(db, channel)
        else return await createWithFallback(context, channel, options)
        return { channelId: id }
      }),
    )
}

function updateCommand(channel: Command, answer: Answerer): void {
  addFallbackOptions(channel.command('update'))
    .argument('<channel>', "the channel's id")
    .option('--name <name>', 'a name to recognise it by', name)
    .option(
      '--config <json>',
      "the provider's whole config, which replaces the current one",
      json('--config'),
    )
    .addOption(onUncertainOption())
    .addOption(orderingOption())
    .option(...expireAfterOption)
    .option(...rateOption)
    .option(...maxInFlightOption)
    .option(...autoSuppressOption)
    .action((id: string, options: Partial<ChannelOptions> & FallbackOptions, command: Command) =>
      answer(command, async (context) => {
        const { db, setting } = context
        const { config } = options
        const channel = canBeRecordId(id) ? await findChannel(db, id) : undefined
        if (!channel) throw noChannel(id)
        const sealed = config === undefined ? {} : seal(channel.provider, config, id, setting)
        const changes = { ...fieldsOf(options), ...sealed }
        if (hasFallbackOptions(options))
          return await updateWithFallback(context, { id: id.toLowerCase(), ...channel }, changes, options)
        if (Object.keys(changes).length === 0)
          throw new CliError('Nothing to change; see: outbound channel update --help')
        await updateChannel(db, id, changes)
        return { channelId: id }
      }),
    )
}

type NewChannelOptions = ChannelOptions & FallbackOptions & { account: string; provider: ProviderName }

/** The id of a channel, and what its fallback can't send, if there is something. */
const withWarnings = (channelId: string, warnings: readonly string[]) => ({
  channelId,
  ...(warnings.length > 0 && { warnings }),
})

function createWithFallback(
  context: CliContext,
  channel: Parameters<typeof createChannel>[1],
  options: FallbackOptions,
) {
  const { id, accountId, provider, name, sealedConfig } = channel
  return inChains(context.db, accountId, async (transaction, channels) => {
    const fields = fallbackFields(id, options, channels)
    await createChannel(transaction, { ...channel, ...fields })
    const { fallbackChannelId = null } = fields
    const chained = { channelId: id, name, provider, sealedConfig, fallbackChannelId }
    return withWarnings(id, await fallbackWarnings(transaction, context, chained, channels))
  })
}

function updateWithFallback(
  context: CliContext,
  { id, accountId }: { id: string; accountId: string },
  changes: Partial<ChannelFields>,
  options: FallbackOptions,
) {
  return inChains(context.db, accountId, async (transaction, channels) => {
    const fields = { ...changes, ...fallbackFields(id, options, channels) }
    await updateChannel(transaction, id, fields)
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
    .action((id: string, _options: object, command: Command) =>
      answer(command, async ({ db }) => {
        if (canBeRecordId(id) && (await holdChannel(db, id, heldByOperator))) return { channelId: id }
        throw noChannel(id)
      }),
    )
  channel
    .command('resume')
    .description('send by the channel again')
    .argument('<channel>', "the channel's id")
    .action((id: string, _options: object, command: Command) =>
      answer(command, async ({ db }) => {
        if (canBeRecordId(id) && (await resumeChannel(db, id))) return { channelId: id }
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
      answer(command, async ({ db }) => {
        const deletion = canBeRecordId(id) ? await deleteChannel(db, id) : undefined
        if (!deletion) throw noChannel(id)
        if ('failed' in deletion) return { channelId: id, failed: deletion.failed }
        const { sending } = deletion
        throw new CliError(
          `${sending} of its sends ${sending === 1 ? 'is' : 'are'} being sent: run outbound channel hold ${id}, and delete the channel when they have ended`,
        )
      }),
    )
}

function noChannel(id: string): CliError {
  return new CliError(`No channel ${id}; see them with: outbound channel list --account ID`)
}

function seal(
  provider: ProviderName,
  config: unknown,
  channelId: string,
  setting: CliContext['setting'],
): { sealedConfig: string; expectsReceipts: boolean } {
  const key = setting('CREDENTIALS_KEY')
  const rules: ProviderRules = providerRules[provider]
  const parsed = rules.config.safeParse(config, { error: describeIssue })
  if (!parsed.success) {
    throw new CliError(`Fix --config for ${provider}: ${describeIssues(parsed.error.issues)}`)
  }
  const issue = addressIssue(parsed.data as object, setting('ALLOWED_PRIVATE_NETWORKS'))
  if (issue) throw new CliError(`Fix --config for ${provider}: ${issue}`)
  return {
    sealedConfig: sealConfig(parsed.data, channelId, key),
    expectsReceipts: expectsReceipts(rules.receipts, parsed.data),
  }
}
