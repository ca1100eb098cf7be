import type { Command } from 'commander'
import pLimit from 'p-limit'
import { NIL } from 'uuid'
import type { Database } from '../../db/client.ts'
import { findReceivingChannels, recordReceipts } from '../../db/receipts.ts'
import { findUnreported, type UnreportedSend } from '../../db/unreported.ts'
import { addressIssue } from '../core/config-address.ts'
import type { ProviderRules } from '../core/provider.ts'
import { providerRules } from '../core/providers/index.ts'
import type { Receipt, ReceiptRules } from '../core/receipt.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { openConfig } from '../core/sealed-config.ts'
import { credentialsKeys } from '../platform/settings.ts'
import { rowOf } from '../receipts/record-receipts.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { pastMoment } from './arguments.ts'

const pageSize = 200
const callsAtOnce = 8
const callMs = 15_000

interface FetchOptions {
  channel: string
  since: Date
}

interface Fetched {
  asked: number
  /** How many of those sends have another status or delivery now. */
  changed: number
}

export function receiptCommands(program: Command, answer: Answerer): void {
  program
    .command('receipts')
    .description('what providers report about messages')
    .command('fetch')
    .description("ask a channel's provider for the receipts that were lost")
    .requiredOption('--channel <id>', 'the channel')
    .option(
      '--since <time>',
      'only sends accepted at or after this time: 2026-11-21T14:00:00Z, or 1h for an hour ago; default: 1h',
      pastMoment,
      pastMoment('1h'),
    )
    .action((options: FetchOptions, command: Command) =>
      answer(command, async (context) => await fetchReceipts(context, options)),
    )
}

async function fetchReceipts(context: CliContext, { channel: id, since }: FetchOptions): Promise<Fetched> {
  const { db } = context
  const ask = await askerFor(context, id)
  const total: Fetched = { asked: 0, changed: 0 }
  const limit = pLimit(callsAtOnce)
  for (let after: string = NIL; ; ) {
    const page = await findUnreported(db, [id, since, after, pageSize])
    const receipts = await Promise.all(page.map((send) => limit(() => ask(send))))
    total.asked += page.length
    total.changed += await record(
      db,
      id,
      receipts.filter((receipt) => receipt !== undefined),
    )
    after = page.at(-1)?.requestId ?? after
    if (page.length < pageSize) return total
  }
}

async function record(db: Database, channelId: string, receipts: readonly Receipt[]): Promise<number> {
  if (receipts.length === 0) return 0
  const rows = receipts.map((receipt) => rowOf({ receipt, channelIds: [channelId] }))
  return (await recordReceipts(db, rows)).filter(({ result }) => result === 'applied').length
}

/** @returns the function that asks the provider for one message's state. */
async function askerFor({ db, setting }: CliContext, id: string) {
  const [channel] = canBeRecordId(id) ? await findReceivingChannels(db, [id]) : []
  if (!channel) throw new CliError(`No channel ${id}; see them with: channel list --account ID`)
  const rules: ProviderRules = providerRules[channel.provider]
  const fetching: ReceiptRules['fetching'] = rules.receipts?.fetching
  if (!fetching)
    throw new CliError(`${channel.provider} can't be asked for receipts; it sends them by itself`)
  const keys = credentialsKeys({
    CREDENTIALS_KEY: setting('CREDENTIALS_KEY'),
    CREDENTIALS_KEY_PREVIOUS: setting('CREDENTIALS_KEY_PREVIOUS'),
  })
  const config = rules.config.parse(openConfig(channel.sealedConfig, id, keys)) as object
  const issue = addressIssue(config, setting('ALLOWED_PRIVATE_NETWORKS'))
  if (issue) throw new CliError(`Fix the config of ${id}: ${issue}`)
  return async ({ requestId, providerMessageId }: UnreportedSend): Promise<Receipt | undefined> => {
    const { url, headers } = fetching.requestFor(providerMessageId, config)
    const response = await fetch(url, {
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(callMs),
    }).catch(() => undefined)
    const body = await response?.text()
    // The provider may have removed the message.
    if (response?.status === 404) return undefined
    if (response?.status !== 200) {
      const why = response ? `answered ${response.status}` : 'did not answer'
      throw new CliError(
        `${channel.provider} ${why}; run the command again later: it asks only for what is still unknown`,
      )
    }
    return fetching.read(requestId, body ?? '')
  }
}
