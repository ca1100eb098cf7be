import { v7 as uuidv7 } from 'uuid'
import { connectDatabase } from '../../db/connection/client.ts'
import { type ReasonToWait, reasonsToWait } from '../../db/reasons-to-wait.ts'
import { buildTimeline } from '../../src/core/sends/timeline.ts'
import { suppressionKey as keyFrom } from '../../src/core/suppression/suppression.ts'

/*
 * Adds a reason to wait to the table, before the statements are made of it, and prints what they say of a send that waits for it,
 * and what of the same send afterwards. A process of its own: the statements of others don't know the reason.
 */

const nap: ReasonToWait = {
  of: 'send',
  isWaiting: `s.reference is not distinct from 'nap' and channels.name is not null`,
  until: `s.accepted_at + interval '1 hour'`,
  isBreakersWait: false,
  waitsAs: 'napping',
  forWhat: 'the end of its nap',
  texts: {
    summary: () => 'Waiting: it takes a nap.',
    customer: () => 'takes a nap',
    next: ({ until }) => ({ at: until?.toISOString() ?? null, text: 'Its nap ends.' }),
  },
}
Object.assign(reasonsToWait, { nap })

const { failWaiting } = await import('../../db/delivery/breakers.ts')
const { claimSends } = await import('../../db/delivery/claims.ts')
const { findBusyChannels, findDueSends, findReadyHeads } = await import('../../db/delivery/due-sends.ts')
const { grantPermits } = await import('../../db/delivery/permits.ts')
const { findRefusals } = await import('../../db/delivery/refusals.ts')
const { readBacklog } = await import('../../db/sends/backlog.ts')
const { findExplanation } = await import('../../db/sends/explanation.ts')
const { explain } = await import('../../src/core/explanation/explain.ts')

const [databaseUrl = '', requestId = '', channelId = '', worker = ''] = process.argv.slice(2)
const db = connectDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 60_000, onConnectionLost: () => {} })
const suppressionKey = keyFrom('x'.repeat(32))
const ofChannel = (set: string) => db.$client.query(`update channels set ${set} where id = $1`, [channelId])

/** The statements' answers about the send, from the look for due sends to its claim. */
async function asked() {
  const [refusal] = await findRefusals(db, [requestId], suppressionKey)
  const heads = await findReadyHeads(db, [requestId])
  const busy = await findBusyChannels(db, { overdueByMs: 0, unusedForMs: 10_000 })
  const due = await findDueSends(db, {
    channels: [{ channelId, after: undefined }],
    permitFree: 'all',
    overdueByMs: 0,
    limit: 10,
  })
  const { oldestWaiting } = await readBacklog(db)
  const found = await findExplanation(db, requestId)
  const explanation = found && explain(buildTimeline(found.send, found.events, 'masked'), found.facts)
  await ofChannel('max_in_flight = 1')
  const [granted] = await grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })
  await ofChannel('max_in_flight = null')
  return {
    dueInMs: refusal?.dueInMs,
    headInMs: heads.map(({ inMs }) => inMs),
    isBusy: busy.some((one) => one.channelId === channelId),
    due: due.map((one) => one.requestId),
    oldestWaiting,
    summary: explanation?.summary,
    next: explanation?.next,
    permits: granted?.permits.length,
  }
}

const claim = () => claimSends(db, [requestId], { id: uuidv7(), worker, suppressionKey, inAnyOrder: false })
const giveUp = async () => {
  await ofChannel(`breaker_open_until = now(), breaker_opened_at = now() - interval '1 hour'`)
  const which = { channelId, longerThanSeconds: 60, reason: 'away', limit: 10 }
  const failed = await failWaiting(db, which)
  await ofChannel('breaker_open_until = null, breaker_opened_at = null')
  return failed.length
}

const napping = { ...(await asked()), givenUp: await giveUp(), claims: (await claim()).length }
await db.$client.query('update sends set reference = null where request_id = $1', [requestId])
const awake = { ...(await asked()), claims: (await claim()).length }
await db.$client.query(
  `update sends set status = 'queued', worker = null, claim_id = null, claimed_at = null where request_id = $1`,
  [requestId],
)
process.stdout.write(JSON.stringify({ napping, awake: { ...awake, givenUp: await giveUp() } }))
await db.$client.end()
