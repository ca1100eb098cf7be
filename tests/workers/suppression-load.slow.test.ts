import { inArray } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { connectDatabase } from '../../db/connection/client.ts'
import { claimSends } from '../../db/delivery/claims.ts'
import { sends as sendRows } from '../../db/schema.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { causes } from '../../src/core/suppression/suppression.ts'
import { received, rowOf } from '../support/attempts.ts'
import { accept, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { livingWorker } from '../support/living-worker.ts'
import { rowsRead } from '../support/rows-read.ts'
import { serviceOfFile, testSuppressionKey } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile()
const { db } = service.runtime

const addMany = (accountId: string, count: number) =>
  db.$client.query(
    `insert into suppressions (id, account_id, contact_type, contact_value, cause)
     select uuidv7(), $1, 'email', 'c' || n || '@example.com', 'manual' from generate_series(1, ${count}) n`,
    [accountId],
  )

test.each(['force_generic_plan', 'force_custom_plan'])(
  'a claim reads at most one entry for each send, however many the account has, and without statistics: %s',
  async (planCacheMode) => {
    const account = await buildAccount(service)
    await addMany(account.accountId, 20_000)
    await livingWorker(service, 'a')
    const ids = await Promise.all(
      Array.from({ length: 50 }, (_, n) => accept(service, account, textBody('Hello', `d${n}@example.com`))),
    )
    const url = new URL(service.stores.databaseUrl)
    url.searchParams.set('options', `-c plan_cache_mode=${planCacheMode}`)
    const one = connectDatabase(url.href, { poolSize: 1, queryTimeoutMs: 10_000, onConnectionLost: () => {} })
    try {
      const claim = { id: uuidv7(), worker: 'a', suppressionKey: testSuppressionKey, inAnyOrder: false }
      const claimed: unknown[] = []
      const work = async () => claimed.push(...(await claimSends(one, ids, claim)))
      expect(await rowsRead(one, work, 'suppressions')).toBeLessThanOrEqual(ids.length + 1)
      expect(claimed).toHaveLength(ids.length)
    } finally {
      await one.$client.end()
    }
  },
)

test('entries that come while sends are accepted, scheduled, held and replayed, and a worker stops: no later call, each failed with its reason', async () => {
  const account = await buildAccount(service)
  const held = { ...account, channelId: await buildChannel(service, account.accountId) }
  await db.$client.query('update channels set held_at = now() where id = $1', [held.channelId])
  const contacts = Array.from({ length: 200 }, (_, n) => `n${n}@example.com`)
  const workers = [await service.startWorker(), await service.startWorker()]
  const addedAt = new Map<string, number>()
  const sends: { id: string; contact: string }[] = []
  const sendTo = async (contact: string, n: number) => {
    const by = n % 3 === 0 ? held : account
    const later = n % 5 === 0 ? { sendAt: new Date(Date.now() + 3000).toISOString() } : {}
    sends.push({ id: await accept(service, by, { ...textBody('Hello', contact), ...later }), contact })
  }
  await Promise.all(contacts.map(sendTo))
  await Promise.all(
    contacts.map(async (contact, n) => {
      const suppressed = {
        accountId: account.accountId,
        contact: { type: 'email', value: contact } as const,
        channelId: null,
      }
      await addSuppression(db, suppressed, null, testSuppressionKey)
      addedAt.set(contact, Date.now())
      await sendTo(contact, n)
    }),
  )
  await workers[0]?.stop()
  // A scheduled send has no row there yet.
  const ids = sends.map(({ id }) => id)
  const rows = () => db.select().from(sendRows).where(inArray(sendRows.requestId, ids))
  const failed = (await rows()).filter((row) => row.status === 'failed')
  for (const row of failed.slice(0, 50)) await replaySend(db, row.requestId)
  await eventually('all have ended', async () => {
    const ended = (await rows()).filter(({ finishedAt }) => finishedAt)
    return ended.length === ids.length
  })
  await workers[1]?.stop()
  for (const { id, contact } of sends) {
    const { status, failure, attempt } = await rowOf(service, id)
    const calls = await received(service, id)
    for (const { receivedAt } of calls)
      expect(receivedAt.getTime()).toBeLessThan((addedAt.get(contact) ?? 0) + 1000)
    expect({ status, failure }).toEqual(
      calls.length > 0
        ? { status: 'sent', failure: null }
        : { status: 'failed', failure: causes.manual.storedReason },
    )
    expect(attempt).toBe(calls.length)
  }
})
