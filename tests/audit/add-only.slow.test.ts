import { readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { pageOfAudit } from '../../db/audit/list.ts'
import { recordAudit } from '../../db/audit/record.ts'
import { migrateDatabase } from '../../db/migrate.ts'
import { retentionTrims } from '../../db/upkeep/retention.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, newContact, request, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { ask, buildPerson, signIn } from '../support/people.ts'
import { runScript } from '../support/psql.ts'
import { finishedTimeline, soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

const script = 'ops/postgresql/audit-add-only.sql'

let ownerUrl: string
let role: string
let owner: pg.Client
let server: pg.Client
let service: TestService
let admin: TestAdmin
let account: Account
let operator: { Cookie: string }

const asRole = (url: string, username: string) =>
  Object.assign(new URL(url), { username, password: 'of-a-test' }).href

beforeAll(async () => {
  const stores = await freshStores()
  const name = new URL(stores.databaseUrl).pathname.slice(1)
  role = `app_${name}`
  server = new pg.Client({
    connectionString: Object.assign(new URL(stores.databaseUrl), { pathname: '/template1' }).href,
  })
  await server.connect()
  // Migrated by an owner that is no superuser, as in production.
  await server.query(`drop database ${name}`)
  for (const one of [`owner_${name}`, role])
    await server.query(`create role ${one} login password 'of-a-test'`)
  await server.query(`create database ${name} owner owner_${name} encoding 'UTF8' template template0`)
  ownerUrl = asRole(stores.databaseUrl, `owner_${name}`)
  await migrateDatabase(ownerUrl)
  owner = new pg.Client({ connectionString: ownerUrl })
  await owner.connect()
  await runScript(ownerUrl, script, { app: role, audit_days: '30' })
  service = await startTestService({}, { ...stores, databaseUrl: asRole(ownerUrl, role) })
  admin = await startTestAdmin(service)
  account = await buildAccount(service, {
    permissions: ['messages:send', 'messages:read', 'suppressions:manage'],
  })
  await buildPerson(service, 'Oz', 'operator')
  operator = await signIn(admin, 'Oz')
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
  await owner.end()
  const { database } = owner
  await server.query(`drop database ${database}`)
  await server.query(`drop role ${role}, owner_${database}`)
  await server.end()
})
beforeEach(() => owner.query('truncate audit'))

const rows = async () => (await pageOfAudit(service.runtime.db, { limit: 100 })).items
const refused = { code: '42501' }

describe('with a role that may only add to the audit', () => {
  test('a send is accepted and sent, and the role owns nothing', async () => {
    await service.startWorker()
    const requestId = await accept(service, account, textBody())
    expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({ status: 'sent' })
    expect((await request(service, '/readyz')).status).toBe(200)
    const { rows: owned } = await owner.query(
      'select from pg_class where relowner = (select oid from pg_roles where rolname = $1)',
      [role],
    )
    expect(owned).toEqual([])
    await service.stopWorkers()
  })

  test('pages, commands and routes record what they change, and a change of several transactions also its result', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    await accept(service, account, { ...textBody(), sendAt })
    const { accountId, channelId } = account
    await ask(admin, `/channels/${channelId}/hold`, { form: { reason: 'down' }, headers: operator })
    const list = { accountId, status: 'scheduled', endedBy: new Date().toISOString(), confirmed: 'yes' }
    await ask(admin, '/sends/cancel', { form: list, headers: operator })
    await runCli(service, 'suppression', 'add', '--account', accountId, '--contact', newContact())
    const { rows: kept } = await owner.query(`select action from audit order by at, id`)
    expect(kept.map(({ action }) => action)).toEqual(['channel.hold', 'list.cancel', 'suppression.add'])
    expect(await rows()).toMatchObject([
      { action: 'suppression.add', via: 'cli' },
      { action: 'list.cancel', by: 'Oz', target: accountId, details: { status: 'scheduled', canceled: 1 } },
      { action: 'channel.hold', by: 'Oz', details: { reason: 'down' } },
    ])
  })

  test.each([
    `update audit set details = '{}'`,
    `update audit set by = 'somebody else'`,
    'delete from audit',
    'truncate audit',
    `insert into audit (id, at, by, via, action) values (uuidv7(), now() - interval '1 day', 'ann', 'cli', 'x')`,
    'alter table audit disable trigger all',
    'drop table audit',
    `create or replace function audit_kept_days() returns integer language sql as 'select 0'`,
    'alter function trim_audit security invoker',
    `create or replace function trim_audit(kept interval, most integer) returns integer language sql as 'select 1'`,
  ])('PostgreSQL refuses: %s', async (statement) => {
    const { db } = service.runtime
    await recordAudit(db, { by: 'ann', via: 'cli', address: null, action: 'channel.hold', target: 'x' })
    await expect(db.$client.query(statement)).rejects.toMatchObject(refused)
    expect(await rows()).toMatchObject([{ by: 'ann', action: 'channel.hold', target: 'x' }])
  })

  test.each([
    [{ reason: 'false' }, 'words'],
    [{ status: 1 }, 'what the row has already'],
    [{ status: 1, canceled: 1 }, 'what the row has already, among others'],
    [{ nested: { reason: 'false' } }, 'more than numbers'],
  ])('the numbers of a change are added to its row once, and %j is not: %s', async (other, _what) => {
    const { db } = service.runtime
    const details = { status: 'scheduled' }
    const row = {
      by: 'ann',
      via: 'cli',
      address: null,
      action: 'sends.cancel',
      target: 'x',
      details,
    } as const
    const id = await recordAudit(db, row)
    const finish = (result: object) => db.$client.query('select finish_audit($1, $2)', [id, result])
    await finish(other)
    expect(await rows()).toMatchObject([{ details }])
    await finish({ canceled: 3 })
    await finish({ canceled: 4 })
    expect((await rows()).map((one) => one.details)).toEqual([{ ...details, canceled: 3 }])
  })

  test('a row older than a day gets no numbers', async () => {
    const { rows: old } = await owner.query(
      `insert into audit (id, at, by, via, action)
       values (uuidv7(), now() - interval '25 hours', 'ann', 'cli', 'sends.cancel') returning id`,
    )
    await service.runtime.db.$client.query('select finish_audit($1, $2)', [old[0].id, { canceled: 3 }])
    expect((await rows()).map(({ details }) => details)).toEqual([{}])
  })

  test('all retention works, and rows younger than audit_days stay, whatever the role asks for', async () => {
    const { db } = service.runtime
    await owner.query(
      `insert into audit (id, at, by, via, action, target)
       select uuidv7(), now() - days * interval '1 day', 'ann', 'cli', 'channel.hold', days
       from unnest($1::int[]) days`,
      [[1, 29, 31, 366]],
    )
    const targets = async () => (await rows()).map(({ target }) => target)
    const kept = { days: 90, mediaHours: 24, callbackDays: 7 }
    for (const trim of Object.values(retentionTrims({ ...kept, auditDays: 365, usageMonths: 25 })))
      await trim(db, 100)
    expect(await targets()).toEqual(['1', '29', '31'])
    expect(await retentionTrims({ ...kept, auditDays: 1, usageMonths: 25 }).audit?.(db, 100)).toBe(1)
    await db.$client.query(`select trim_audit('-100 days', 1000)`)
    await db.$client.query(`select trim_audit('0', 1000)`)
    expect(await targets()).toEqual(['1', '29'])
  })

  test('a right that is missing is a 503 that names it, on API and console, and nothing is changed', async () => {
    await owner.query(`revoke insert (id) on audit from ${role}`)
    onTestFinished(async () => {
      await owner.query(`grant insert (id) on audit to ${role}`)
    })
    const words = /PostgreSQL denies a permission to the user in DATABASE_URL/
    const page = await ask(admin, `/channels/${account.channelId}/resume`, {
      form: { reason: 'up' },
      headers: operator,
    })
    expect(page).toMatchObject({ status: 503, text: expect.stringMatching(words) })
    const held = await owner.query('select held_at from channels where id = $1', [account.channelId])
    expect(held.rows[0].held_at).not.toBeNull()
    const command = await runCli(service, 'channel', 'resume', account.channelId)
    expect(command).toMatchObject({ stderr: expect.stringMatching(words) })
    const own = { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ contact: { value: newContact() } })
    const posted = await request(service, '/v1/suppressions', { method: 'POST', headers: own, body })
    expect(posted.status).toBe(503)
    expect(service.logs).toContainEqual(
      expect.objectContaining({ event: 'unavailable', cause: 'no_permission' }),
    )
  })
})

test('a worker that lacks a right names it, and sends what waits once it has it', async () => {
  await owner.query('update channels set held_at = null, held_reason = null')
  await service.startWorker('test-worker', { times: soonReconciled })
  const begun = service.logs.length
  await owner.query(`revoke update on sends from ${role}`)
  onTestFinished(() => service.stopWorkers())
  const requestId = await accept(service, account, textBody())
  const named = await eventually('it is logged', () => {
    const line = service.logs.slice(begun).find(({ cause }) => cause === 'no_permission')
    return Promise.resolve(line)
  })
  expect(named.check).toMatch(/^grant it connect on the database/)
  expect(await request(service, '/readyz')).toMatchObject({
    status: 503,
    body: { message: expect.stringContaining('denies a permission') },
  })
  expect(service.logs.slice(begun).filter(({ event }) => event === 'crashed')).toEqual([])
  await owner.query(`grant update on sends to ${role}`)
  expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({ status: 'sent' })
})

test('the script can be run again, with other days', async () => {
  await runScript(ownerUrl, script, { app: role, audit_days: '40' })
  onTestFinished(() => runScript(ownerUrl, script, { app: role, audit_days: '30' }))
  await owner.query(
    `insert into audit (id, at, by, via, action) values (uuidv7(), now() - interval '35 days', 'ann', 'cli', 'x')`,
  )
  await service.runtime.db.$client.query(`select trim_audit('0', 1000)`)
  expect(await rows()).toHaveLength(1)
})

test('the script refuses a role that can give itself every right, and days that are no number', async () => {
  const { user } = owner
  await expect(runScript(ownerUrl, script, { app: String(user), audit_days: '30' })).rejects.toMatchObject({
    stderr: expect.stringContaining('create one that owns nothing'),
  })
  await expect(runScript(ownerUrl, script, { app: role, audit_days: 'some' })).rejects.toMatchObject({
    stderr: expect.stringContaining('some'),
  })
})

test('the docs run the script as its comment says', () => {
  const [command = ''] = /psql .*audit-add-only\.sql/.exec(readFileSync(script, 'utf8')) ?? []
  expect(command).not.toBe('')
  expect(readFileSync('docs/how-to/see-who-did-what.md', 'utf8')).toContain(command)
})

test('a role that could delete rows of the audit before goes on to have its retention', async () => {
  const migration = readFileSync('db/migrations/0033_append_only_audit.sql', 'utf8')
  const grants = /DO \$\$.*\$\$;/s.exec(migration)?.[0] ?? ''
  await owner.query(`revoke execute on function trim_audit from ${role}; ${grants}`)
  await expect(service.runtime.db.$client.query(`select trim_audit('0', 1)`)).rejects.toMatchObject({
    code: '42501',
  })
  await owner.query(`grant delete on audit to ${role}; ${grants}`)
  await service.runtime.db.$client.query(`select trim_audit('0', 1)`)
  await runScript(ownerUrl, script, { app: role, audit_days: '30' })
})
