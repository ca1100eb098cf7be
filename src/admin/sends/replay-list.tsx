import { listChannels } from '../../../db/accounts/channels.ts'
import { auditedInPages } from '../../../db/audit/record.ts'
import type { Database } from '../../../db/connection/client.ts'
import { databaseNow } from '../../../db/connection/clock.ts'
import { maxCanceled as maxOfPart } from '../../../db/sends/cancel-sets.ts'
import {
  type ReplayedPart,
  type ReplayList,
  type ReplayPlace,
  replayListPart,
  tryReplayList,
} from '../../../db/sends/replay-lists.ts'
import { replaysPerSecond } from '../../../db/sends/replays.ts'
import { replayResult } from '../../core/accounts/audit-details.ts'
import { sumOfSkipped } from '../../core/sends/left-out.ts'
import { type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { suppressionKeyOf } from '../suppressions/suppression-key.ts'
import {
  canBeReplayed,
  countIn,
  listChanged,
  maxOfList,
  momentIn,
  readSentList,
  replayNeeds,
  type SentList,
  textIn,
} from './change-list.ts'
import { leftOutOf } from './left-out.tsx'
import { sentenceOf } from './list-sentence.ts'
import { ReplayedPage, TrialPage } from './replay-pages.tsx'

/**
 * Replays a list of sends, by the rules of the command `replay` (db/sends/replay-sets.ts). The first form shows which would be
 * replayed and which left out; the second one replays these, part by part.
 */
export const replayList = ({ db, log, settings }: AdminRuntime) =>
  factory.createHandlers(async (c) => {
    const sent = await readSentList(db, c, canBeReplayed, replayNeeds)
    const options = optionsIn(sent.fields)
    const list = { ...(await listOf(db, sent)), ...options, suppressionKey: suppressionKeyOf(settings) }
    if (!('confirmed' in sent.fields)) {
      const endedBy = await databaseNow(db)
      const would = await tryReplayList(db, { ...list, endedBy, limit: maxOfList })
      const leftOut = await leftOutOf(db, sent, canBeReplayed)
      const sentence = await sentenceOf(db, sent.input, sent.resolved)
      const shown = { input: sent.input, sentence, options, would, endedBy, leftOut }
      return c.html(<TrialPage {...shown} perSecond={replaysPerSecond} />)
    }
    const before = doneIn(sent.fields)
    // Without `endedBy`, the form would also replay sends that failed since then, even those that it replayed itself.
    const endedBy = momentIn(sent.fields, 'endedBy')
    const place = placeOfPart(sent.fields)
    const { channelIds, status } = list
    const { channelId, accountId } = sent.resolved
    const of = { channels: channelIds.length, ...options }
    const part = await auditedInPages(db, listChanged(c, 'list.replay', sent, of), {
      change: () =>
        replayListPart(db, {
          ...list,
          endedBy,
          limit: maxOfPart,
          from: place,
          replayedBefore: before.replayed,
        }),
      resultOf: replayResult,
    })
    const { next: _, ...counts } = part
    log.info({
      event: 'set_replayed',
      by: c.get('person').name,
      accountId,
      channelId,
      status,
      ...of,
      ...counts,
    })
    const total = countIn(sent.fields, 'of')
    return c.html(
      <ReplayedPage {...{ input: sent.input, options, done: sum(before, part), total, endedBy }} />,
    )
  })

function optionsIn({ includeExpired, includeRefused }: Record<string, unknown>) {
  return { includeExpired: includeExpired === 'yes', includeRefused: includeRefused === 'yes' }
}

type Listed = Omit<ReplayList, 'limit' | 'from'>

async function listOf(db: Database, { form, resolved }: SentList): Promise<Listed> {
  const { status, reason, fault, providerCode, reference, contact, acceptedFrom, acceptedTo } = form
  if (status !== 'failed' && status !== 'uncertain') throw new PageError(400, replayNeeds)
  const { ownerId, channelId, flowId } = resolved
  // All of the account: a send to one channel may have fallen back to another.
  const channels = ownerId === undefined ? [] : await listChannels(db, ownerId)
  return {
    channelIds: channels.map((channel) => channel.channelId),
    postedTo: channelId,
    status,
    reason,
    fault,
    providerCode,
    flowId,
    reference,
    contactValue: contact?.value,
    since: acceptedFrom,
    until: acceptedTo,
  }
}

function placeOfPart(fields: Record<string, unknown>): ReplayPlace | undefined {
  const [channelId, afterSeq] = textIn(fields, 'from', /^[0-9a-f-]{36} \d{1,19}$/)?.split(' ') ?? []
  return channelId !== undefined && afterSeq !== undefined ? { channelId, afterSeq } : undefined
}

const doneIn = (fields: Record<string, unknown>) => ({
  replayed: countIn(fields, 'replayed'),
  skipped: {
    gone: countIn(fields, 'gone'),
    suppressed: countIn(fields, 'suppressed'),
    refused: countIn(fields, 'refused'),
    expired: countIn(fields, 'expired'),
  },
})

const sum = (before: ReturnType<typeof doneIn>, part: ReplayedPart): ReplayedPart => ({
  replayed: before.replayed + part.replayed,
  skipped: sumOfSkipped(before.skipped, part.skipped),
  next: part.next,
})
