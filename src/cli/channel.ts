import { type Command, Option } from 'commander'
import { v7 as uuidv7 } from 'uuid'
import {
  type ChannelFields,
  createChannel,
  findProvider,
  holdChannel,
  listChannels,
  resumeChannel,
  updateChannel,
} from '../../db/accounts/channels.ts'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import { addressIssue } from '../core/config-address.ts'
import { describeIssue, describeIssues } from '../core/issues.ts'
import { type Ordering, orderings } from '../core/lane.ts'
import type { OnUncertain } from '../core/outcome.ts'
import { heldByOperator } from '../core/own-reasons.ts'
import { type ProviderName, providerNames, providerRules } from '../core/providers/index.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { sealConfig } from '../core/sealed-config.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { callRate, existingAccount, json, limit, name, type Rate } from './arguments.ts'

interface ChannelOptions {
  name: string
  config: unknown
  onUncertain?: OnUncertain
  ordering?: Ordering
  /** Seconds; 0 means none. */
  expireAfter?: number
  /** 0 calls means none. */
  rate?: Rate
  /** 0 means none. */
  maxInFlight?: number
}

export function channelCommands(program: Command, answer: Answerer): void {
  const channel = program.command('channel').description("channels: an account's connections to providers")
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
  channel
    .command('create')
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
    .action((options: ChannelOptions & { account: string; provider: ProviderName }, command: Command) =>
      answer(command, async ({ db, setting }) => {
        const { provider } = options
        const accountId = await existingAccount(db, options.account)
        const id = uuidv7()
        const sealedConfig = seal(provider, options.config, id, setting)
        const onUncertain = options.onUncertain ?? providerRules[provider].onUncertain
        const { name, ordering = 'contact' } = options
        const fields = { ...fieldsOf(options), name, sealedConfig, onUncertain, ordering }
        await createChannel(db, { id, accountId, provider, ...fields })
        return { channelId: id }
      }),
    )
}

function updateCommand(channel: Command, answer: Answerer): void {
  channel
    .command('update')
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
    .action((id: string, options: Partial<ChannelOptions>, command: Command) =>
      answer(command, async ({ db, setting }) => {
        const { config } = options
        const provider = canBeRecordId(id) ? await findProvider(db, id) : undefined
        if (!provider) throw noChannel(id)
        const sealed = config === undefined ? {} : { sealedConfig: seal(provider, config, id, setting) }
        const changes = { ...fieldsOf(options), ...sealed }
        if (Object.keys(changes).length === 0)
          throw new CliError('Nothing to change; see: channel update --help')
        await updateChannel(db, id, changes)
        return { channelId: id }
      }),
    )
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
          `${sending} of its sends ${sending === 1 ? 'is' : 'are'} being sent: run channel hold ${id}, and delete the channel when they have ended`,
        )
      }),
    )
}

function noChannel(id: string): CliError {
  return new CliError(`No channel ${id}; see them with: channel list --account ID`)
}

/** Options that weren't given are left out, so that their fields stay unchanged. */
function fieldsOf(options: Partial<ChannelOptions>): Partial<ChannelFields> {
  const { name, onUncertain, ordering, expireAfter, rate, maxInFlight } = options
  return {
    ...(name !== undefined && { name }),
    ...(onUncertain !== undefined && { onUncertain }),
    ...(ordering !== undefined && { ordering }),
    ...(expireAfter !== undefined && { expireAfterSeconds: expireAfter || null }),
    ...(rate !== undefined && { rateCalls: rate.calls || null, rateSeconds: rate.seconds || null }),
    ...(maxInFlight !== undefined && { maxInFlight: maxInFlight || null }),
  }
}

const rateOption = [
  '--rate <n/seconds>',
  'at most N calls in SECONDS, e.g. 80/1; further sends wait; "none": no limit',
  callRate,
] as const

const maxInFlightOption = [
  '--max-in-flight <n>',
  'at most N calls at the same time, over all workers; "none": no limit',
  limit,
] as const

const expireAfterOption = [
  '--expire-after <seconds>',
  'fail sends that wait longer than this since their accept or replay; "none": they never expire',
  limit,
] as const

function orderingOption(): Option {
  return new Option(
    '--ordering <what>',
    "contact: a contact's sends go in the order of their accept; none: each goes as soon as possible; for new sends only",
  ).choices(orderings)
}

function onUncertainOption(): Option {
  return new Option(
    '--on-uncertain <what>',
    'after a call with unknown outcome: resend calls again, hold leaves the send uncertain',
  ).choices(['resend', 'hold'])
}

function seal(
  provider: ProviderName,
  config: unknown,
  channelId: string,
  setting: CliContext['setting'],
): string {
  const key = setting('CREDENTIALS_KEY')
  const parsed = providerRules[provider].config.safeParse(config, { error: describeIssue })
  if (!parsed.success) {
    throw new CliError(`Fix --config for ${provider}: ${describeIssues(parsed.error.issues)}`)
  }
  const issue = addressIssue(parsed.data, setting('ALLOWED_PRIVATE_NETWORKS'))
  if (issue) throw new CliError(`Fix --config for ${provider}: ${issue}`)
  return sealConfig(parsed.data, channelId, key)
}
