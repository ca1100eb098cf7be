import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageOfAudit } from '../../db/audit/list.ts'
import { auditOfContact } from '../../db/audit/of-contact.ts'
import { pageOfRefused } from '../../db/audit/refused.ts'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { retentionTrims } from '../../db/upkeep/retention.ts'
import { type Account, buildAccount } from '../support/builders.ts'
import { rowsRead } from '../support/rows-read.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

const many = 30_000
const limit = 50
/** Rows that a page looks at, which it reads once. */
const lookedAt = 500

let service: TestService
let account: Account
const connections: Database[] = []

beforeAll(async () => {
  service = await startTestService({}, await freshStores())
  account = await buildAccount(service)
})
afterAll(async () => {
  for (const { $client } of connections) await $client.end()
  await service.stop()
})

function connect(mode: string): Database {
  const url = new URL(service.stores.databaseUrl)
  url.searchParams.set('options', `-c plan_cache_mode=${mode}`)
  const options = { poolSize: 1, queryTimeoutMs: 60_000, onConnectionLost: () => {} }
  const db = connectDatabase(String(url), options)
  connections.push(db)
  return db
}

describe.each(['force_custom_plan', 'force_generic_plan'])('with %s', (mode) => {
  test('made for empty tables, the lists and their retention read few of many rows', async () => {
    const db = connect(mode)
    const { $client } = service.runtime.db
    await $client.query('truncate audit, refused_requests')
    const trims = retentionTrims({
      days: 90,
      mediaHours: 24,
      callbackDays: 7,
      auditDays: 365,
      usageMonths: 25,
    })
    const from = new Date(Date.now() - 3_600_000)
    const audit: [string, () => Promise<unknown>][] = [
      ['all', () => pageOfAudit(db, { limit }, lookedAt)],
      ['of a target', () => pageOfAudit(db, { limit, target: 'target-7' }, lookedAt)],
      ['of a target and a person', () => pageOfAudit(db, { limit, target: 'target-7', by: 'ann' }, lookedAt)],
      ['of a person', () => pageOfAudit(db, { limit, by: 'person-7' }, lookedAt)],
      ['of an action that is rare', () => pageOfAudit(db, { limit, action: 'channel.delete' }, lookedAt)],
      ['of a time', () => pageOfAudit(db, { limit, from, to: new Date() }, lookedAt)],
      [
        'of a contact',
        () =>
          auditOfContact(
            db,
            { conversationIds: ['conversation-7'], requestIds: ['target-7'], suppressionIds: ['target-8'] },
            limit,
          ),
      ],
      ['retention', async () => trims.audit?.(db, limit)],
    ]
    const accountIds = [account.accountId]
    const refused: [string, () => Promise<unknown>][] = [
      ['all', () => pageOfRefused(db, {}, limit)],
      ['of an account', () => pageOfRefused(db, { accountIds }, limit)],
      ['retention', async () => trims.refusedRequests?.(db, limit)],
    ]
    for (const [, statement] of [...audit, ...refused]) await statement()
    await $client.query(
      `insert into audit (id, at, by, via, action, target, details)
       select uuidv7(), now() - n * interval '1 s', 'person-' || n % 100, 'cli', 'channel.hold', 'target-' || n % 1000,
              jsonb_build_object('conversationId', 'conversation-' || n % 1000)
       from generate_series(1, $1) n`,
      [many],
    )
    await $client.query(
      `insert into refused_requests (request_id, account_id, key_prefix, at, status, message, route, fields)
       select uuidv7(), case when n % 100 = 0 then $2 else gen_random_uuid() end, 'omk_', now(), 400, 'm', 'r', '{}'
       from generate_series(1, $1) n`,
      [many, account.accountId],
    )
    for (const [name, statement] of audit)
      expect([name, await rowsRead(db, statement, 'audit')]).toEqual([
        name,
        expect.toSatisfy((read) => read <= 2 * lookedAt),
      ])
    const limits = [10_000, 2 * (many / 100), limit]
    for (const [index, [name, statement]] of refused.entries())
      expect([name, await rowsRead(db, statement, 'refused_requests')]).toEqual([
        name,
        expect.toSatisfy((read) => read <= (limits[index] ?? 0)),
      ])
  })
})
