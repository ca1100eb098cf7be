import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { insertSends, scheduleSends } from '../../db/admission/accepts.ts'
import { insertBatch } from '../../db/admission/batches.ts'
import { moveDueSends } from '../../db/admission/scheduled-sends.ts'
import { type countedStates, foldCounts } from '../../db/counters/fold.ts'
import { countByHour, countFailures } from '../../db/counters/read.ts'
import { claimSends } from '../../db/delivery/claims.ts'
import { expireSends } from '../../db/delivery/expiry.ts'
import { recordLateOutcome } from '../../db/delivery/late-outcomes.ts'
import { giveUpClaims } from '../../db/delivery/lost-claims.ts'
import { type OutcomeRow, recordOutcomes } from '../../db/delivery/outcomes.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { cancelSends } from '../../db/sends/cancel.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { eraseSends } from '../../db/upkeep/erase.ts'
import { retentionTrims } from '../../db/upkeep/retention.ts'
import { receiptKinds } from '../../src/core/receipts/receipt.ts'
import type { EventFields } from '../../src/core/sends/timeline-events.ts'
import { idleSweeper, sweepOnce } from '../support/attempts.ts'
import { buildNewSend } from '../support/batches.ts'
import { buildAccount, buildChannel } from '../support/builders.ts'
import { costsOf, countedSends, countersOf, spentBySends, usageOf, usedBySends } from '../support/counted.ts'
import { pick, type Random, randomOf } from '../support/random.ts'
import { buildReceipt } from '../support/receipts.ts'
import { serviceOfFile, testSuppressionKey } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile()
const { db } = service.runtime
const accounts = [await buildAccount(service), await buildAccount(service)]
const channels = [
  ...accounts,
  ...(await Promise.all(
    accounts.map(async (account) => ({
      ...account,
      channelId: await buildChannel(service, account.accountId),
    })),
  )),
]
const query = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await db.$client.query<Row>(text, values)).rows

const idsOf = async (where: string, limit = 6): Promise<string[]> =>
  (
    await query<{ id: string }>(
      `select request_id as id from sends where ${where} order by random() limit ${limit}`,
    )
  ).map(({ id }) => id)

const record = (outcome: string, more: object = {}) =>
  ({
    attempt: 1,
    outcome,
    durationMs: 5,
    providerStatus: null,
    providerCode: null,
    providerMessageId: null,
    ...more,
  }) as OutcomeRow['record']

const results: Omit<OutcomeRow, 'requestId' | 'claimId'>[] = [
  { status: 'sent', record: record('sent'), reason: undefined, delayMs: undefined },
  {
    ...{ status: 'sent', reason: undefined, delayMs: undefined },
    record: record('sent', {
      providerMessageId: 'm-1',
      cost: { amount: '0.0333', currency: 'EUR', parts: 2 },
    }),
  },
  {
    ...{ status: 'failed', reason: 'WhatsApp answered 400: no such user', delayMs: undefined },
    record: record('rejected', { fault: 'recipient', providerStatus: 400, providerCode: '131026' }),
  },
  {
    ...{ status: 'failed', reason: 'the server answered 503 (the last attempt)', delayMs: undefined },
    record: record('retry_later', { fault: 'provider', providerStatus: 503 }),
  },
  {
    ...{ status: 'uncertain', reason: 'no answer in time', delayMs: undefined },
    record: record('uncertain', { fault: 'provider' }),
  },
  { status: 'queued', reason: 'the server answered 503', delayMs: 0, record: record('retry_later') },
]

const aSend = (random: Random) =>
  buildNewSend({
    ...pick(random, channels),
    ordering: 'none',
    ...pick(random, [{}, { segments: 1 }, { segments: 3, priority: 'bulk' as const }]),
  })
const some = (random: Random, most = 5) =>
  Array.from({ length: 1 + Math.floor(random() * most) }, () => aSend(random))
const worker = 'counts'
const deadWorker = 'dead'

/** What receipts say of the cost, of one message or another. */
const told: Partial<EventFields['receipt']>[] = [
  {},
  { providerMessageId: 'm-1', cost: { amount: '0.05', currency: 'EUR', parts: 1 } },
  { providerMessageId: 'm-2', cost: { amount: '0.07', currency: 'USD', parts: null } },
  { providerMessageId: null, cost: { amount: null, currency: null, parts: 3 } },
]

/** The statements that change sends, each as the service runs it. */
const steps: Record<string, (random: Random) => Promise<unknown>> = {
  accept: (random) => insertSends(db, some(random)),
  acceptOne: (random) => insertSends(db, [aSend(random)]),
  acceptKeyed: (random) =>
    insertSends(
      db,
      some(random).map((send) => ({
        ...send,
        idempotency: { hash: uuidv7().replaceAll('-', ''), fingerprint: '00' },
      })),
    ),
  acceptBatch: (random) =>
    insertBatch(db, {
      requestId: uuidv7(),
      sends: some(random).map((row) => {
        const isLater = random() < 0.5
        return {
          row: { ...row, isLater, ...(isLater && { sendAt: new Date(Date.now() + 200) }) },
          mediaContent: undefined,
        }
      }),
      idempotency: undefined,
      recordBy: new Date('2100-01-01'),
    }),
  schedule: (random) =>
    scheduleSends(
      db,
      some(random).map((send) => ({ ...send, sendAt: new Date(Date.now() + 200) })),
    ),
  moveDue: () => moveDueSends(db, 100),
  claim: async () => claim(worker, await idsOf(`status = 'queued'`)),
  claimByTheDead: async () => claim(deadWorker, await idsOf(`status = 'queued'`)),
  answer: async (random) =>
    recordOutcomes(
      db,
      (await claimsOf(`status = 'sending' and worker = '${worker}'`)).map((send) => ({
        ...send,
        ...pick(random, results),
      })),
    ),
  lose: async () => {
    await query(`update workers set alive_until = now() - interval '1 s' where name = $1`, [deadWorker])
    const lost = await claimsOf(`status = 'sending' and worker = '${deadWorker}'`)
    await giveUpClaims(
      db,
      idleSweeper,
      lost.map((send) => ({
        ...{ ...send, mayHaveCalled: true, delayMs: undefined },
        status: 'uncertain',
        reason: 'worker dead was lost before it recorded the answer',
      })),
    )
  },
  answerLate: async (random) => {
    for (const send of await claimsOf(
      `status = 'uncertain' and attempt_record is null and claim_id is not null`,
    ))
      await recordLateOutcome(db, {
        ...{ ...send, record: record('sent') },
        verdict: random() < 0.5 ? { status: 'sent' } : { status: 'failed', reason: 'late; no' },
      })
  },
  report: async (random) => {
    const found = await query<{ id: string; channelId: string }>(
      `select request_id as id, channel_id as "channelId" from sends order by random() limit 10`,
    )
    const code = () => pick(random, [null, '131026', '131047'])
    await recordReceipts(
      db,
      found.map(({ id, channelId }) =>
        buildReceipt(id, channelId, pick(random, receiptKinds), {
          providerCode: code(),
          ...pick(random, told),
        }),
      ),
    )
  },
  cancel: async () => {
    await cancelSends(db, await idsOf('true', 3))
    const waiting = await query<{ id: string }>('select request_id as id from scheduled_sends limit 1')
    await cancelSends(
      db,
      waiting.map(({ id }) => id),
    )
  },
  replay: async () => {
    for (const id of await idsOf(`status in ('failed', 'uncertain')`, 3)) await replaySend(db, id)
  },
  expire: async () => {
    await query(`update sends set expires_at = now() where request_id = any($1)`, [
      await idsOf(`status = 'queued'`, 2),
    ])
    await expireSends(db, 100)
  },
  // As the release before counters does it, and an operator by hand.
  formerAccept: (random) => {
    const { accountId, channelId } = pick(random, channels)
    return query(
      `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                          close_conversation, accepted_at)
       values ($1, $2, $3, 'phone', '+4915112345678', 'text', '{"type": "text", "text": {"value": "Hello"}}', false, now() - interval '1 hour')`,
      [uuidv7(), accountId, channelId],
    )
  },
  formerEnd: async () =>
    query(
      `update sends set status = 'failed', failure = 'expired', finished_at = now(), claimed_at = null
       where request_id = any($1) and status = 'queued'`,
      [await idsOf(`status = 'queued'`, 2)],
    ),
  formerReceipt: async () =>
    query(
      `update sends set delivery = 'read', delivery_at = now() where request_id = any($1) and status = 'sent'`,
      [await idsOf(`status = 'sent'`, 2)],
    ),
  fold: () => foldCounts(db, 7),
}

async function claim(by: string, ids: readonly string[]) {
  await query(
    `insert into workers (name, alive_until) values ($1, 'infinity') on conflict (name) do update set alive_until = 'infinity'`,
    [by],
  )
  const id = uuidv7()
  await claimSends(db, ids, { id, worker: by, suppressionKey: testSuppressionKey, inAnyOrder: false })
}

const claimsOf = (where: string) =>
  query<{ requestId: string; channelId: string; claimId: string }>(
    `select request_id as "requestId", channel_id as "channelId", claim_id as "claimId" from sends where ${where} limit 6`,
  )

/** The sends that went wrong, as the counters have them by reason and code. */
async function failuresOfSends(): Promise<Record<string, number>> {
  const rows = await query<{ name: string }>(`
    select concat_ws('/', coalesce(delivery, status),
      case when delivery is null then coalesce(attempt_record->>'fault',
        case when failure like 'worker %' then 'its worker was lost' when failure like '%:%' then split_part(failure, ':', 1)
             when failure like '%;%' then split_part(failure, ';', 1) else failure end) else '' end,
      case when delivery is null
        then coalesce(attempt_record->>'providerCode', attempt_record->>'providerStatus', '')
        else coalesce((select fields->>'providerCode' from send_events e
                       where e.request_id = sends.request_id and e.event = 'undelivered' order by id desc limit 1), '') end) as name
    from sends where status in ('failed', 'uncertain') or delivery = 'undelivered'`)
  const counts: Record<string, number> = {}
  for (const { name } of rows) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

const hours = [0, 1].map((ago) => new Date(Math.floor(Date.now() / 3_600_000 - ago) * 3_600_000))

async function expectCounted(when: string) {
  expect(await countersOf(db.$client), when).toEqual(await countedSends(db.$client))
  expect(await usageOf(db.$client), when).toEqual(await usedBySends(db.$client))
  expect(await costsOf(db.$client), when).toEqual(await spentBySends(db.$client))
}

test.each([1, 2, 3])(
  'whatever happens to sends, side by side, the counters and the usage equal a count of them (%i)',
  async (seed) => {
    const random = randomOf(seed, 'counters')
    const names = Object.keys(steps)
    for (let round = 0; round < 60; round++) {
      const together = Array.from({ length: 4 }, () => pick(random, names))
      await Promise.all(together.map((name) => steps[name]?.(random)))
      if (round % 10 === 9) await expectCounted(`after ${together}`)
    }
    expect(Object.keys(await countedSends(db.$client)).length).toBeGreaterThan(10)
    expect(Object.keys(await costsOf(db.$client)).length).toBeGreaterThan(5)
    const expected = await failuresOfSends()
    const read = async () =>
      Object.fromEntries(
        (await countFailures(db, { of: 'all' }, hours, 1000)).map(({ state, reason, code, sends }) => [
          [state, reason, code].join('/'),
          sends,
        ]),
      )
    expect(await read()).toEqual(expected)
    while ((await foldCounts(db, 1000)) > 0);
    expect(await read()).toEqual(expected)
    await expectCounted('when they are added up')
  },
)

test('a worker adds the changes up, those of its own sweep too', async () => {
  await insertSends(db, some(randomOf(1, 'counters')))
  await eventually('all changes are added up', async () => {
    await sweepOnce(service)
    return (await query('select from send_count_changes')).length === 0
  })
  expect(await countersOf(db.$client)).toEqual(await countedSends(db.$client))
})

test('an account, a channel and all of them are counted by themselves', async () => {
  const total = (rows: readonly Record<(typeof countedStates)[number] | 'accepted', number>[]) =>
    rows.reduce((sum, { accepted }) => sum + accepted, 0)
  const sum = async (set: Parameters<typeof countByHour>[1]) => total(await countByHour(db, set, hours))
  const ofChannels = await Promise.all(channels.map(({ channelId }) => sum({ of: 'channel', id: channelId })))
  const ofAccounts = await Promise.all(accounts.map(({ accountId }) => sum({ of: 'account', id: accountId })))
  const all = await sum({ of: 'all' })
  expect(all).toBeGreaterThan(0)
  expect(ofChannels.reduce((a, b) => a + b)).toBe(all)
  expect(ofAccounts.reduce((a, b) => a + b)).toBe(all)
})

test('what is erased, or removed after its retention, stays counted', async () => {
  const before = await countersOf(db.$client)
  const usedBefore = await usageOf(db.$client)
  await eraseSends(db, await idsOf(`status in ('failed', 'sent')`, 5))
  expect(await countersOf(db.$client)).toEqual(before)
  await query(`update sends set finished_at = now() - interval '100 days' where finished_at is not null`)
  await query(
    `update sends set request_id = overlay(request_id::text placing '018bcfe5' from 1 for 8)::uuid where finished_at is not null`,
  )
  expect(
    await retentionTrims({
      days: 90,
      mediaHours: 24,
      callbackDays: 7,
      auditDays: 365,
      usageMonths: 25,
    }).sends?.(db, 1000),
  ).toBeGreaterThan(0)
  expect(await countersOf(db.$client)).toEqual(before)
  expect(await usageOf(db.$client)).toEqual(usedBefore)
})

test('sends that were accepted before counting began are not counted, whatever happens to them', async () => {
  const before = await countersOf(db.$client)
  const [send] = await insertSends(db, [
    buildNewSend({
      ...accounts[0],
      accountId: accounts[0]?.accountId ?? '',
      channelId: accounts[0]?.channelId ?? '',
    }),
  ])
  await query('update sends set counted_as = null where request_id = $1', [send?.requestId])
  await cancelSends(db, [send?.requestId ?? ''])
  const after = await countersOf(db.$client)
  const changed = Object.keys(after).filter((name) => after[name] !== before[name])
  // Only the accept, which was counted before its row was made an old one.
  expect(changed.every((name) => name.endsWith('accepted'))).toBe(true)
})
