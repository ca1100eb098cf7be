import type { Command } from 'commander'
import pLimit from 'p-limit'
import { Agent, request } from 'undici'
import { NIL } from 'uuid'
import { auditedInPages } from '../../db/audit/record.ts'
import type { Database } from '../../db/connection/client.ts'
import {
  findReceivingChannels,
  type ReceivingChannel,
  recordReceipts as recordAlone,
} from '../../db/receipts/receipts.ts'
import { findUnreported, type UnreportedSend } from '../../db/receipts/unreported.ts'
import { openConfig } from '../core/channels/sealed-config.ts'
import type { Receipt, ReceiptRules } from '../core/receipts/receipt.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { nothingThere, whatWasLeftOut } from '../core/sends/left-out.ts'
import { addressNotAllowed, createGuardedConnector } from '../platform/http/guarded-connector.ts'
import { createLogger } from '../platform/log/logger.ts'
import { credentialsKeys } from '../platform/settings/settings.ts'
import { providerOf } from '../providers/known.ts'
import { createEndSends, type EndSends } from '../sends/end-sends.ts'
import { rowOf } from '../sends/record-receipts.ts'
import { type Answerer, type CliContext, CliError, renderWith } from './answer.ts'
import { pastMoment } from './arguments.ts'

const pageSize = 200
const callsAtOnce = 8
const callMs = 15_000
const maxAnswerBytes = 64 * 1024

interface FetchOptions {
  channel: string
  since: Date
}

interface Fetched {
  asked: number
  /** How many of those sends have another status or delivery now. */
  changed: number
  /** Why the others have not. */
  leftOut: { forgotten: number; noNews: number }
}

/** Why sends have not changed only where there are some. */
type Answered = Omit<Fetched, 'leftOut'> & Partial<Pick<Fetched, 'leftOut'>>

export function receiptCommands(program: Command, answer: Answerer): void {
  program
    .command('receipts')
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
      answer<Answered>(
        command,
        async (context) => {
          const { leftOut, ...fetched } = await fetchReceipts(context, options)
          return fetched.changed < fetched.asked ? { ...fetched, leftOut } : fetched
        },
        ({ leftOut = {}, ...fetched }) =>
          renderWith(fetched, whatWasLeftOut(fetched.asked, leftOut, nothingThere.receipts)),
      ),
    )
}

async function fetchReceipts(context: CliContext, { channel: id, since }: FetchOptions): Promise<Fetched> {
  const { db, actor } = context
  const asker = await askerFor(context, id)
  // A fallback alone needs the settings for it.
  const recordReceipts: EndSends['recordReceipts'] = asker.channel.hasFallback
    ? createEndSends(ending(context)).recordReceipts
    : (receipts) => recordAlone(db, receipts)
  const row = {
    ...actor,
    action: 'receipts.fetch',
    target: id,
    details: { since: since.toISOString() },
  } as const
  return await auditedInPages(db, row, {
    change: () => fetchFrom(db, { ...asker, recordReceipts }, { channel: id, since }),
    resultOf: ({ asked, changed }) => ({ asked, changed }),
  }).finally(() => asker.close())
}

async function fetchFrom(
  db: Database,
  { ask, channel, recordReceipts }: Asker & Pick<EndSends, 'recordReceipts'>,
  { channel: id, since }: FetchOptions,
): Promise<Fetched> {
  const total: Fetched = { asked: 0, changed: 0, leftOut: { forgotten: 0, noNews: 0 } }
  const limit = pLimit(callsAtOnce)
  for (let after: string = NIL; ; ) {
    const page = await findUnreported(db, [id, since, after, pageSize])
    const receipts = await Promise.all(page.map((send) => limit(() => ask(send))))
    total.asked += page.length
    const found = receipts.filter((receipt) => receipt !== undefined)
    const changed = await record(recordReceipts, channel, found)
    total.changed += changed
    total.leftOut.forgotten += page.length - found.length
    total.leftOut.noNews += found.length - changed
    after = page.at(-1)?.requestId ?? after
    if (page.length < pageSize) return total
  }
}

async function record(
  recordReceipts: EndSends['recordReceipts'],
  { channelId, provider, hasFallback }: ReceivingChannel,
  receipts: readonly Receipt[],
): Promise<number> {
  if (receipts.length === 0) return 0
  const rows = receipts.map((receipt) => rowOf({ receipt, channelIds: [channelId], hasFallback }, provider))
  return (await recordReceipts(rows)).filter(({ result }) => result === 'applied').length
}

/** Sends that fall back are woken and logged by the workers. */
function ending({ db, setting }: CliContext) {
  return {
    db,
    log: createLogger('silent'),
    settings: {
      CREDENTIALS_KEY: setting('CREDENTIALS_KEY'),
      CREDENTIALS_KEY_PREVIOUS: setting('CREDENTIALS_KEY_PREVIOUS'),
      API_KEY_PEPPER: setting('API_KEY_PEPPER'),
      PUBLIC_BASE_URL: setting('PUBLIC_BASE_URL'),
    },
  }
}

interface Asker {
  channel: ReceivingChannel
  /** Asks the provider for one message's state; undefined if it doesn't know the message any more. */
  ask(send: UnreportedSend): Promise<Receipt | undefined>
  close(): Promise<void>
}

async function askerFor({ db, setting }: CliContext, id: string): Promise<Asker> {
  const [channel] = canBeRecordId(id) ? await findReceivingChannels(db, [id]) : []
  if (!channel)
    throw new CliError('not_found', `No channel ${id}; see them with: outbound channel list --account ID`)
  const rules = providerOf(channel.provider)
  const fetching: ReceiptRules['fetching'] = rules.receipts?.fetching
  if (!fetching)
    throw new CliError('refused', `${channel.provider} can't be asked for receipts; it sends them by itself`)
  const keys = credentialsKeys({
    CREDENTIALS_KEY: setting('CREDENTIALS_KEY'),
    CREDENTIALS_KEY_PREVIOUS: setting('CREDENTIALS_KEY_PREVIOUS'),
  })
  const config = rules.config.parse(openConfig(channel.sealedConfig, id, keys)) as object
  const dispatcher = new Agent({
    connect: createGuardedConnector({ allowedPrivateNetworks: setting('ALLOWED_PRIVATE_NETWORKS') }),
    maxResponseSize: maxAnswerBytes,
  })
  const failed = (what: string) =>
    new CliError(
      'failed',
      `${channel.provider} ${what}; run the command again later: it asks only for what is still unknown`,
    )
  return {
    channel,
    async ask({ requestId, providerMessageId }) {
      const { url, headers } = fetching.requestFor(providerMessageId, config)
      const { statusCode, text } = await get(url, headers, dispatcher).catch((error: { code?: string }) => {
        if (error.code !== addressNotAllowed) throw failed('did not answer')
        throw new CliError(
          'refused',
          `The baseUrl of ${id} leads to an address that is not public; to call it, allow its network by ALLOWED_PRIVATE_NETWORKS`,
        )
      })
      // The provider may have removed the message.
      if (statusCode === 404) return undefined
      if (statusCode !== 200) throw failed(`answered ${statusCode}`)
      return fetching.read(requestId, text)
    },
    close: () => dispatcher.destroy(),
  }
}

async function get(url: string, headers: Record<string, string>, dispatcher: Agent) {
  const { statusCode, body } = await request(url, {
    headers,
    dispatcher,
    signal: AbortSignal.timeout(callMs),
  })
  return { statusCode, text: await body.text() }
}
