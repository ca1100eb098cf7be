import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { openConfig } from '../../src/core/channels/sealed-config.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { type CliResult, runCliGiven, startCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'
import { freshDatabase } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile()
let folder = ''
const databases: Database[] = []
const key = service.runtime.settings.CREDENTIALS_KEY
const secrets = {
  ACME_CHAT_SECRET: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  ACME_CHAT_URL: 'https://example.com/a?b=c',
}
const password = { ANN_PASSWORD: 'correct horse battery staple' }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'installation-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await Promise.all(databases.map((db) => db.$client.end()))
})

interface Place {
  stores: { databaseUrl: string }
  db: Database
}

/** An installation of its own, empty. */
async function emptyInstallation(): Promise<Place> {
  const databaseUrl = await freshDatabase()
  const db = connectDatabase(databaseUrl, { poolSize: 2, queryTimeoutMs: 20_000, onConnectionLost: () => {} })
  databases.push(db)
  return { stores: { databaseUrl }, db }
}

const cli = ({ stores }: Pick<Place, 'stores'>, settings: Record<string, string>, ...args: string[]) =>
  runCliGiven({ stores: { ...service.stores, ...stores } }, { settings }, ...args)

/** The file of an installation, as the command prints it. */
async function exported({ stores }: Pick<Place, 'stores'>, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await startCli(
    { stores: { ...service.stores, ...stores } },
    {},
    'export',
    ...args,
  ).ended
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout
}

let files = 0
async function written(text: string): Promise<string> {
  files += 1
  const path = join(folder, `${files}.yaml`)
  await writeFile(path, text)
  return path
}

const apply = async (place: Pick<Place, 'stores'>, text: string, settings = {}, ...args: string[]) =>
  await cli(place, settings, 'apply', await written(text), ...args)

const changesOf = ({ stdout }: CliResult) => JSON.parse(stdout).changes

const auditedActions = async ({ db }: Place): Promise<string[]> =>
  (await db.$client.query('select action from audit order by at, id')).rows.map(({ action }) => action)

const whole = `
providers: {}
accounts:
  - name: Acme
    rateLimit: 600/60
    ceilings: [500 segments/hour, 10000 messages/month]
    channels:
      - name: Chat
        provider: webhook
        config:
          url: { env: ACME_CHAT_URL }
          secret: { env: ACME_CHAT_SECRET }
        rate: 80/1
        maxInFlight: 5
        ceilings: [100 messages/day]
        expireAfter: 3600
        autoSuppress: []
        quietHours: { hours: 21:00-08:00, zone: Europe/Berlin, for: [bulk] }
        fallback: { channel: Trial, on: all, within: 60 }
      - name: Trial
        provider: sandbox
        config: {}
        countries: [DE, AT]
        ordering: none
        onUncertain: hold
        templates:
          welcome: { text: "Hello {{name}}" }
    flows: [Onboarding]
    endpoints:
      - url: https://example.com/callbacks
        events: [message.failed]
  - name: Other
people:
  - name: ann
    role: operator
    password: { env: ANN_PASSWORD }
`

test('a file makes an empty installation what it says, whose export is the same in a second one', async () => {
  const [first, second] = [await emptyInstallation(), await emptyInstallation()]
  const applied = await apply(first, whole, { ...secrets, ...password })
  expect(applied).toMatchObject({ status: 0 })
  const text = await exported(first)
  expect(text).not.toContain(secrets.ACME_CHAT_SECRET)
  expect(await exported(first)).toBe(text)
  expect(await apply(second, text, { ...secrets, ...password })).toMatchObject({ status: 0 })
  expect(await exported(second)).toBe(text)
  const { rows } = await second.db.$client.query("select id, sealed_config from channels where name = 'Chat'")
  expect(openConfig(rows[0].sealed_config, rows[0].id, [key])).toMatchObject({
    url: secrets.ACME_CHAT_URL,
    secret: secrets.ACME_CHAT_SECRET,
  })
  expect(await auditedActions(second)).toEqual(
    expect.arrayContaining([
      'account.create',
      'channel.create',
      'template.set',
      'flow.create',
      'endpoint.create',
      'person.add',
    ]),
  )
})

test('an unchanged file changes nothing and leaves no row in the audit, also without its secrets', async () => {
  const place = await emptyInstallation()
  expect(await apply(place, whole, { ...secrets, ...password })).toMatchObject({ status: 0, stderr: '' })
  const before = await auditedActions(place)
  expect(changesOf(await apply(place, whole))).toEqual([])
  expect(await apply(place, await exported(place), {}, '--plan', '--prune')).toMatchObject({ status: 0 })
  expect(await auditedActions(place)).toEqual(before)
})

test('a plan names just what was changed by hand, exits with 2, and changes nothing; the apply changes it back', async () => {
  const place = await emptyInstallation()
  expect(await apply(place, whole, { ...secrets, ...password })).toMatchObject({ status: 0, stderr: '' })
  const text = await exported(place)
  const { rows } = await place.db.$client.query(
    "update channels set max_in_flight = 7 where name = 'Chat' returning id",
  )
  const audit = await auditedActions(place)
  const expected = [{ change: 'update', what: 'channel', name: 'Acme / Chat', fields: ['maxInFlight'] }]
  const plan = await cli(place, {}, 'apply', await written(text), '--plan')
  expect(plan.status).toBe(2)
  expect(changesOf(plan)).toEqual(expected)
  expect(await auditedActions(place)).toEqual(audit)
  expect(await exported(place)).not.toBe(text)
  expect(changesOf(await apply(place, text))).toEqual(expected)
  expect(await exported(place)).toBe(text)
  const last = await place.db.$client.query(
    'select action, target, details from audit order by at desc limit 1',
  )
  expect(last.rows).toEqual([
    { action: 'channel.update', target: rows[0].id, details: { maxInFlight: 5, maxInFlightBefore: 7 } },
  ])
})

test('secrets come from the environment and from files; one that is not set stays as it is', async () => {
  const place = await emptyInstallation()
  await writeFile(join(folder, 'url'), 'https://example.com/from-a-file\n')
  const text = whole.replace('url: { env: ACME_CHAT_URL }', 'url: { file: url }')
  expect(await apply(place, text, { ...secrets, ...password })).toMatchObject({ status: 0 })
  const next = `whsec_${Buffer.alloc(32, 2).toString('base64')}`
  const changed = await apply(place, whole, { ACME_CHAT_SECRET: next })
  expect(changesOf(changed)).toEqual([
    { change: 'update', what: 'channel', name: 'Acme / Chat', fields: ['config.secret'] },
  ])
  const { rows } = await place.db.$client.query("select id, sealed_config from channels where name = 'Chat'")
  expect(openConfig(rows[0].sealed_config, rows[0].id, [key])).toMatchObject({
    url: 'https://example.com/from-a-file',
    secret: next,
  })
})

test('all secrets that something new lacks are named at once, and nothing is changed', async () => {
  const place = await emptyInstallation()
  const { status, stderr } = await apply(place, whole)
  expect(status).toBe(64)
  expect(stderr).toContain('ACME_CHAT_URL, ACME_CHAT_SECRET, ANN_PASSWORD')
  expect(await exported(place)).toBe('providers: {}\naccounts: []\npeople: []\n')
  expect(await auditedActions(place)).toEqual([])
})

test('a mistake is named by its line and path, and nothing is changed', async () => {
  const place = await emptyInstallation()
  const channels = (provider: string) =>
    Array.from({ length: 200 }, (_, index) =>
      [
        `      - name: C${index}`,
        `        provider: ${index === 198 ? provider : 'sandbox'}`,
        '        config: {}',
      ].join('\n'),
    ).join('\n')
  const text = `accounts:\n  - name: Acme\n    channels:\n${channels('smoke')}\n`
  const line = text.split('\n').findIndex((one) => one.includes('smoke')) + 1
  const { status, stderr } = await apply(place, text)
  expect(status).toBe(64)
  expect(stderr).toContain(`line ${line}, accounts[0].channels[198].provider: no provider is named smoke`)
  const faulty = await apply(place, text.replace('provider: smoke', 'provider: sandbox\n        rate: fast'))
  expect(faulty.stderr).toContain(`line ${line + 1}, accounts[0].channels[198].rate: Use N/SECONDS`)
  const unknown = await apply(
    place,
    text.replace('provider: smoke', 'provider: sandbox\n        colour: red'),
  )
  expect(unknown.stderr).toContain(`accounts[0].channels[198].colour: unknown field`)
  expect(await auditedActions(place)).toEqual([])
})

test('two applies at once: one waits, and finds nothing left to do', async () => {
  const place = await emptyInstallation()
  const results = await Promise.all([1, 2].map(() => apply(place, whole, { ...secrets, ...password })))
  expect(results.map(({ status }) => status)).toEqual([0, 0])
  expect(results.map((result) => changesOf(result).length === 0).sort()).toEqual([false, true])
})

test('an apply that is cut off in the middle changes nothing', async () => {
  const place = await emptyInstallation()
  await createAccount(place.db, 'Other')
  const holder = await place.db.$client.connect()
  await holder.query("begin; select from accounts where name = 'Other' for update")
  const text = whole.replace('- name: Other', '- name: Other\n    rateLimit: 5/1')
  const ended = apply(place, text, { ...secrets, ...password })
  await eventually('it waits', async () => {
    const { rows } = await place.db.$client.query(
      "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    if (rows.length === 0) return false
    await place.db.$client.query('select pg_terminate_backend($1)', [rows[0].pid])
    return true
  })
  expect((await ended).status).not.toBe(0)
  await holder.query('rollback')
  holder.release()
  expect(await auditedActions(place)).toEqual([])
  expect(await exported(place)).toContain(
    'accounts:\n  - name: Other\n    rateLimit: null\n    ceilings: []\n    channels: []\n',
  )
})

test('--prune removes what the lists do not have, and refuses what has unfinished sends', async () => {
  const account = await buildAccount(service)
  const name = `Pruned ${account.accountId}`
  await service.runtime.db.$client.query('update accounts set name = $2 where id = $1', [
    account.accountId,
    name,
  ])
  const text = await exported(service, '--account', account.accountId)
  await accept(service, account, textBody())
  const without = `accounts:\n  - name: ${name}\n    channels: []\n    flows: []\n`
  const stays = await apply(service, without)
  expect(changesOf(stays)).toEqual([])
  const refused = await apply(service, without, {}, '--prune')
  expect(refused.status).toBe(64)
  expect(refused.stderr).toContain('has 1 send that has not ended')
  expect(await exported(service, '--account', account.accountId)).toBe(text)
  await service.runtime.db.$client.query(
    "update sends set finished_at = now(), status = 'canceled' where account_id = $1",
    [account.accountId],
  )
  const pruned = await apply(service, without, {}, '--prune')
  expect(changesOf(pruned)).toMatchObject([
    { change: 'remove', what: 'channel' },
    { change: 'remove', what: 'flow' },
  ])
  expect(await exported(service, '--account', account.accountId)).toContain('channels: []')
})

test('a file of a provider goes through export and apply as it is; --prune removes one that is not in the list', async () => {
  const [first, second] = [await emptyInstallation(), await emptyInstallation()]
  const shipped = await readFile('src/providers/vendors/brevo.yaml', 'utf8')
  const content = shipped.replace(/^name: .*$/m, 'name: own-vendor')
  const file = `providers:\n  own-vendor: ${JSON.stringify(content)}\n`
  expect(await apply(first, file)).toMatchObject({ status: 0, stderr: '' })
  const text = await exported(first)
  expect(changesOf(await apply(second, text))).toEqual([
    { change: 'create', what: 'provider', name: 'own-vendor' },
  ])
  expect(await exported(second)).toBe(text)
  const stored = await second.db.$client.query('select name, content from provider_files')
  expect(stored.rows).toEqual([{ name: 'own-vendor', content }])
  expect(changesOf(await apply(second, 'providers: {}', {}, '--prune'))).toEqual([
    { change: 'remove', what: 'provider', name: 'own-vendor' },
  ])
})

test('--prune removes endpoints, templates and people that their lists do not have, and keeps the rest', async () => {
  const place = await emptyInstallation()
  expect(await apply(place, whole, { ...secrets, ...password })).toMatchObject({ status: 0, stderr: '' })
  const without = whole
    .replace(/templates:\n +welcome: .*/, 'templates: {}')
    .replace(/endpoints:\n.*\n.*/, 'endpoints: []')
    .replace(/people:.*/s, 'people: []')
  expect(changesOf(await apply(place, without))).toEqual([])
  expect(changesOf(await apply(place, without, {}, '--prune'))).toEqual([
    { change: 'remove', what: 'template', name: 'Acme / Trial / welcome' },
    { change: 'remove', what: 'endpoint', name: 'Acme / example.com' },
    { change: 'remove', what: 'person', name: 'ann' },
  ])
  expect(changesOf(await apply(place, without, {}, '--prune'))).toEqual([])
})

test('a file that a secret of something new should be in, and that is not there, is named', async () => {
  const place = await emptyInstallation()
  const text = whole.replace('url: { env: ACME_CHAT_URL }', 'url: { file: not-there }')
  const { status, stderr } = await apply(place, text, { ...secrets, ...password })
  expect([status, stderr]).toEqual([
    64,
    expect.stringContaining('not set, so nothing was changed: not-there.'),
  ])
  expect(await auditedActions(place)).toEqual([])
})

test('a file of a secret that is there and can not be read is a fault, and the secret does not stay as it is in silence', async () => {
  const place = await emptyInstallation()
  await apply(place, whole, { ...secrets, ...password })
  const before = await auditedActions(place)
  const refused = await apply(place, whole.replace('url: { env: ACME_CHAT_URL }', 'url: { file: . }'))
  expect(refused).toMatchObject({
    status: 64,
    stderr: expect.stringContaining("can't read the secret . (EISDIR)"),
  })
  expect(await auditedActions(place)).toEqual(before)
})

test('flow delete is refused while a send of the flow has not ended', async () => {
  const account = await buildAccount(service)
  await accept(service, account, { ...textBody(), flowId: account.flowId })
  const refused = await cli(service, {}, 'flow', 'delete', account.flowId)
  expect(refused).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('The flow has 1 send that has not ended'),
  })
  expect(await exported(service, '--account', account.accountId)).not.toContain('flows: []')
})

test('names that stand for two things are refused, and named', async () => {
  const place = await emptyInstallation()
  await createAccount(place.db, 'Twice')
  await createAccount(place.db, 'Twice')
  const refused = await cli(place, {}, 'export')
  expect(refused).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('several accounts named Twice'),
  })
  expect(await apply(place, 'accounts: [{ name: Twice }]')).toMatchObject({ status: 4 })
})

test('a file of 1,000 channels is applied whole', { timeout: 60_000 }, async () => {
  const place = await emptyInstallation()
  const channels = Array.from({ length: 1000 }, (_, index) => ({
    name: `C${index}`,
    provider: 'sandbox',
    config: {},
  }))
  const applied = await apply(place, JSON.stringify({ accounts: [{ name: 'Many', channels }] }))
  expect(changesOf(applied)).toHaveLength(1001)
  expect(await place.db.$client.query('select from channels')).toMatchObject({ rowCount: 1000 })
})
