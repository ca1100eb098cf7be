import type { Command } from 'commander'
import { findProvider as findProviderOf, listChannels } from '../../db/accounts/channels.ts'
import type { Database } from '../../db/connection/client.ts'
import { readChannels } from '../../db/overview/channels.ts'
import { plainWarning } from '../core/channels/plain-channel.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { nothingThere } from '../core/sends/left-out.ts'
import { findProvider, knownNames } from '../providers/known.ts'
import type { ChannelChange } from '../setup/channels/channel-fields.ts'
import {
  type ChannelMade,
  type ChannelMaking,
  changeChannel,
  endChannel,
  makeChannel,
  switchChannel,
} from '../setup/channels/channels.ts'
import type { FallbackChange } from '../setup/channels/fallbacks.ts'
import { type Answerer, type CliContext, CliError, renderWith } from './answer.ts'
import { displayName } from './argument.ts'
import { existingAccount, operatorsWords } from './arguments.ts'
import {
  addFallbackOptions,
  addQuietOptions,
  autoSuppressOption,
  ceilingOption,
  countriesOption,
  expireAfterOption,
  maxInFlightOption,
  oneClickOption,
  onUncertainOption,
  orderingOption,
  rateOption,
} from './channel-options.ts'
import { type GivenConfig, givenConfig, warnOfArgument } from './given-json.ts'

interface ChannelOptions extends ChannelChange, FallbackChange {
  config?: GivenConfig
}

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
    .requiredOption('--name <name>', 'a name to recognise it by', displayName)
    .requiredOption(
      '--config <json>',
      "the provider's config, as @FILE, - for stdin, or JSON; {} for the sandbox",
      givenConfig,
    )
    .addOption(onUncertainOption())
    .addOption(orderingOption())
    .option(...expireAfterOption)
    .option(...rateOption)
    .option(...maxInFlightOption)
    .option(...autoSuppressOption)
    .addOption(oneClickOption())
    .option(...countriesOption)
    .option(...ceilingOption)
    .action((options: NewChannelOptions, command: Command) =>
      answer(command, async (context) => {
        const { provider, config: given, account, ...asked } = options
        if (!findProvider(provider))
          throw new CliError(
            'usage',
            `No provider is named ${provider}: use one of ${knownNames().join(', ')}`,
          )
        checkTogether(asked)
        const accountId = await existingAccount(context.db, account)
        const { config } = given
        const made = answerOf(
          await makeChannel(channelMaking(context), { accountId, provider, config, asked }),
        )
        warnOfArgument(given, findProvider(provider)?.shownFields, context.warn)
        return made
      }),
    )
}

function updateCommand(channel: Command, answer: Answerer): void {
  addQuietOptions(addFallbackOptions(channel.command('update')))
    .argument('<channel>', "the channel's id")
    .option('--name <name>', 'a name to recognise it by', displayName)
    .option(
      '--config <json>',
      "the provider's whole config, which replaces the current one, as @FILE, - for stdin, or JSON",
      givenConfig,
    )
    .addOption(onUncertainOption())
    .addOption(orderingOption())
    .option(...expireAfterOption)
    .option(...rateOption)
    .option(...maxInFlightOption)
    .option(...autoSuppressOption)
    .addOption(oneClickOption())
    .option(...countriesOption)
    .option(...ceilingOption)
    .action((id: string, { config: given, ...asked }: ChannelOptions, command: Command) =>
      answer(command, async (context) => {
        checkTogether(asked)
        const made = await changeChannel(channelMaking(context), { id, config: given?.config, asked })
        if (made === undefined) throw noChannel(id)
        if (made === 'unchanged')
          throw new CliError('usage', 'Nothing to change; see: outbound channel update --help')
        const answer = answerOf(made)
        if (given) warnOfArgument(given, await shownFieldsOf(context, id), context.warn)
        return answer
      }),
    )
}

type NewChannelOptions = ChannelOptions & {
  account: string
  provider: string
  name: string
  config: GivenConfig
}

async function shownFieldsOf({ db }: CliContext, channelId: string) {
  const provider = canBeRecordId(channelId) ? await findProviderOf(db, channelId) : undefined
  return provider === undefined ? undefined : findProvider(provider)?.shownFields
}

export const channelMaking = ({ db, actor, setting, isProduction }: CliContext): ChannelMaking => ({
  db,
  actor,
  sealing: () => ({
    key: setting('CREDENTIALS_KEY'),
    networks: setting('ALLOWED_PRIVATE_NETWORKS'),
    isProduction,
  }),
  keys: () => ({
    CREDENTIALS_KEY: setting('CREDENTIALS_KEY'),
    CREDENTIALS_KEY_PREVIOUS: setting('CREDENTIALS_KEY_PREVIOUS'),
  }),
})

/** The id of a channel, and what its fallback can't send, if there is something. */
function answerOf(made: ChannelMade) {
  if ('issues' in made)
    throw new CliError('usage', `Fix --config for ${made.issues.provider}: ${made.issues.words}`)
  const { channelId, warnings } = made
  return { channelId, ...(warnings.length > 0 && { warnings }) }
}

function checkTogether({ quietHours, quietZone, quietFor, ...given }: ChannelOptions): void {
  if (quietHours === 'none' && (quietZone || quietFor))
    throw new CliError('usage', '--quiet-hours none takes no --quiet-zone and no --quiet-for')
  if (given.fallback === 'none' && (given.fallbackOn || given.fallbackWithin))
    throw new CliError('usage', 'With --fallback none, leave out --fallback-on and --fallback-within')
}

function holdCommands(channel: Command, answer: Answerer): void {
  const descriptions = {
    hold: ['stop sending by the channel; its sends wait until it is resumed', 'why; its account sees it too'],
    resume: ['send by the channel again', 'why, for the audit'],
  } as const
  for (const verb of ['hold', 'resume'] as const) {
    const [description, reasonWords] = descriptions[verb]
    channel
      .command(verb)
      .description(description)
      .argument('<channel>', "the channel's id")
      .option('--reason <text>', reasonWords, operatorsWords)
      .action((id: string, { reason }: { reason?: string }, command: Command) =>
        answer(command, async (context) => {
          if (await switchChannel(context, verb, id, reason)) return { channelId: id }
          throw noChannel(id)
        }),
      )
  }
}

function deleteCommand(channel: Command, answer: Answerer): void {
  channel
    .command('delete')
    .description('delete the channel for good; its waiting sends fail, and past sends keep their timelines')
    .argument('<channel>', "the channel's id")
    .action((id: string, _options: object, command: Command) =>
      answer(
        command,
        async (context) => {
          const deletion = await endChannel(context, id)
          if (!deletion) throw await deletedOrNone(context.db, id)
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

function noChannel(id: string): CliError {
  return new CliError('not_found', `No channel ${id}; see them with: outbound channel list --account ID`)
}
