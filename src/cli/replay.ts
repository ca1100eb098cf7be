import { type Command, Option } from 'commander'
import { findProvider } from '../../db/accounts/channels.ts'
import { audited, auditedInPages } from '../../db/audit/record.ts'
import { type ReplayedSet, replaySends, tryReplay } from '../../db/sends/replay-sets.ts'
import { defaultReplayLimit, type ReplayableStatus, replaySend } from '../../db/sends/replays.ts'
import { findSend } from '../../db/sends/sends.ts'
import { replayResult, sendsReplayed } from '../core/accounts/audit-details.ts'
import { erasedContactValue } from '../core/contacts/contact.ts'
import { wasCanceled } from '../core/explanation/explain.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { nothingThere, whatWasLeftOut } from '../core/sends/left-out.ts'
import { isPastOwnExpiry, pastOwnExpiry } from '../core/sends/own-expiry.ts'
import { suppressionKey } from '../core/suppression/suppression.ts'
import { type Answerer, type CliContext, CliError, renderFields, renderWith } from './answer.ts'
import { pastMoment, reasonPart, wholeNumber } from './arguments.ts'

interface SetOptions {
  channel?: string
  status?: ReplayableStatus
  limit?: number
  since?: Date
  until?: Date
  reason?: string
  includeExpired?: true
  includeRefused?: true
  dryRun?: true
}

export function replayCommand(program: Command, answer: Answerer): void {
  program
    .command('replay')
    .argument('[requestId]', 'one send')
    .option('--channel <id>', 'a set of sends: those of this channel')
    .addOption(
      new Option('--status <status>', 'only sends with this status').choices(['failed', 'uncertain']),
    )
    .option('--limit <n>', `only the oldest n of them; default: ${defaultReplayLimit}`, wholeNumber)
    .option(
      '--since <time>',
      'only sends accepted at or after this time: 2026-11-21T14:00:00Z, or 1h for an hour ago',
      pastMoment,
    )
    .option('--until <time>', 'only sends accepted before this time', pastMoment)
    .option('--reason <text>', 'only sends whose reason contains this text', reasonPart)
    .option('--include-expired', 'include expired sends, which are skipped otherwise')
    .option('--include-refused', 'include sends that were refused for good, which are skipped otherwise')
    .option('--dry-run', 'only count what would be replayed and skipped')
    .action((requestId: string | undefined, options: SetOptions, command: Command) =>
      answer<Answer>(
        command,
        (context) =>
          requestId !== undefined && Object.keys(options).length === 0
            ? replayOne(context, requestId)
            : replaySet(context, requestId, options),
        (result) => render(result, options),
      ),
    )
}

type Answer = ReplayedSet | { replayed: number; requestId: string }

/** Renders a dry run in other words than a replay, so that nobody takes it for one. */
function render(result: Answer, { dryRun }: SetOptions): string {
  if (!('skipped' in result)) return renderFields(result)
  const { replayed, skipped } = result
  const why = whatWasLeftOut(replayed, skipped, nothingThere.replay)
  return renderWith(dryRun ? { 'would replay': replayed } : { replayed }, why)
}

async function replaySet(
  { db, actor, setting, isSet }: CliContext,
  requestId: string | undefined,
  options: SetOptions,
) {
  const { channel, status, limit = defaultReplayLimit, dryRun, ...filters } = options
  if (requestId !== undefined || channel === undefined || status === undefined) {
    throw new CliError('usage', 'Give one requestId, or --channel and --status for a set; see: replay --help')
  }
  if (!(canBeRecordId(channel) && (await findProvider(db, channel)))) {
    throw new CliError(
      'not_found',
      `No channel ${channel}; see them with: outbound channel list --account ID`,
    )
  }
  const { since, until } = filters
  if (since && until && since >= until) throw new CliError('usage', '--since has to be before --until')
  const filtered = { channelId: channel, status, limit, ...filters }
  const key = isSet('API_KEY_PEPPER') ? suppressionKey(setting('API_KEY_PEPPER')) : undefined
  const set = { ...filtered, suppressionKey: key }
  if (!dryRun)
    return await auditedInPages(
      db,
      { ...actor, ...sendsReplayed(filtered) },
      { change: () => replaySends(db, set), resultOf: replayResult },
    )
  const { replayed, skipped } = await tryReplay(db, set)
  return { replayed, skipped }
}

async function replayOne({ db, actor }: CliContext, requestId: string) {
  const isReplayed =
    canBeRecordId(requestId) &&
    (await audited(
      db,
      (transaction) => replaySend(transaction, requestId),
      (isReplayed) => isReplayed && { ...actor, action: 'send.replay', target: requestId },
    ))
  if (isReplayed) return { replayed: 1, requestId }
  const found = canBeRecordId(requestId) ? await findSend(db, requestId) : undefined
  if (found?.send.contactValue === erasedContactValue) {
    throw new CliError(
      'refused',
      `The contact of ${requestId} was erased, and its content with it: there is nothing to send`,
    )
  }
  switch (found?.send.status) {
    case undefined:
      throw new CliError('not_found', `No send ${requestId}: it was never accepted, or is no longer kept`)
    case 'sent':
      throw new CliError(
        'refused',
        `${requestId} was sent: a replay would send it twice. Send a new message instead`,
      )
    case 'canceled':
      throw new CliError('refused', `${requestId} was canceled. Send a new message instead`)
    case 'queued':
    case 'sending':
      throw new CliError('refused', `${requestId} has not ended yet; see: trace ${requestId}`)
    case 'failed':
    case 'uncertain':
      if (wasCanceled({ status: found.send.status, reason: found.send.failure }))
        throw new CliError('refused', `${requestId} was canceled. Send a new message instead`)
      if (!(await findProvider(db, found.send.sentThrough ?? found.send.channelId)))
        throw new CliError(
          'refused',
          `The channel of ${requestId} was deleted. Send a new message by another channel instead`,
        )
      if (isPastOwnExpiry(found.send)) throw new CliError('refused', pastOwnExpiry(requestId))
      throw new CliError('refused', `The media of ${requestId} is no longer kept. Send a new message instead`)
  }
}
