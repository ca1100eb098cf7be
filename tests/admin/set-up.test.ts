import { desc, eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findAccount } from '../../db/accounts/accounts.ts'
import { listApiKeys } from '../../db/accounts/api-keys.ts'
import { listChannels, readChannelFields, readSealedConfig } from '../../db/accounts/channels.ts'
import { audit } from '../../db/schema.ts'
import { openConfig } from '../../src/core/channels/sealed-config.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { newContact } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { expectOnlyOurMarkup } from '../support/pages.ts'
import { ask, buildPerson, signIn } from '../support/people.ts'
import { startTestService, type TestService, testSecrets } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let headers: { Cookie: string }
let accountId: string

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service, testSecrets)
  await buildPerson(service, 'Oz', 'operator')
  headers = await signIn(admin, 'Oz')
  accountId = await newAccount('Acme')
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const get = (path: string) => ask(admin, path, { headers })
const post = (path: string, form: Record<string, string>) => ask(admin, path, { headers, form })

async function newAccount(name: string): Promise<string> {
  const { status, location = '' } = await post('/accounts/new', { name })
  expect(status).toBe(303)
  return location.split('/').at(-1) ?? ''
}

const lastChange = async (target: string) => {
  const [row] = await service.runtime.db
    .select()
    .from(audit)
    .where(eq(audit.target, target))
    .orderBy(desc(audit.at))
    .limit(1)
  return row
}

describe('an account', () => {
  test('is created, with its own rate limit, by who is signed in', async () => {
    const { location = '' } = await post('/accounts/new', { name: 'Globex', rateLimit: '60/10' })
    const id = location.split('/').at(-1) ?? ''
    expect(await findAccount(service.runtime.db, id)).toMatchObject({
      name: 'Globex',
      rateLimit: { points: 60, seconds: 10 },
    })
    expect(await lastChange(id)).toMatchObject({
      by: 'Oz',
      via: 'page',
      action: 'account.create',
      details: { name: 'Globex', rateLimit: '60/10' },
    })
    const { text } = await get('/accounts')
    expect(text).toContain('Globex')
  })

  test('gets ceilings, keeps its rate limit, and loses them by an empty field', async () => {
    const id = await newAccount('Hooli')
    await post(`/accounts/${id}/limit`, { rateLimit: '5/1', ceiling: '10 messages/day, 100 messages/month' })
    const { ceilings, rateLimit } = (await findAccount(service.runtime.db, id)) ?? {}
    expect([ceilings, rateLimit?.points]).toEqual([['10 messages/day', '100 messages/month'], 5])
    const { status, html } = await post(`/accounts/${id}/limit`, { ceiling: 'many' })
    expect([status, html]).toEqual([400, expect.stringContaining('id="ceiling-issue"')])
    await post(`/accounts/${id}/limit`, { ceiling: '' })
    expect(await findAccount(service.runtime.db, id)).toMatchObject({
      ceilings: null,
      rateLimit: { points: 5 },
    })
  })

  test('gets another rate limit; the audit has the old one and the new one', async () => {
    const id = await newAccount('Initech')
    await post(`/accounts/${id}/limit`, { rateLimit: '5/1' })
    await post(`/accounts/${id}/limit`, { rateLimit: '6/1' })
    expect((await lastChange(id))?.details).toEqual({ rateLimit: '6/1', rateLimitBefore: '5/1' })
    expect((await get(`/audit?target=${id}`)).text).toContain('rateLimit: 5/1 → 6/1')
  })

  test('has the rate limit of the service again by an empty field', async () => {
    const id = await newAccount('Umbrella')
    await post(`/accounts/${id}/limit`, { rateLimit: '5/1' })
    await post(`/accounts/${id}/limit`, { rateLimit: '' })
    expect((await findAccount(service.runtime.db, id))?.rateLimit).toBeUndefined()
    expect((await lastChange(id))?.details).toEqual({ rateLimit: null, rateLimitBefore: '5/1' })
  })

  test.each([
    [{ name: ' ' }, 'Use 1 to 256 characters on one line.'],
    [{ name: 'A', rateLimit: 'many' }, 'Use POINTS/SECONDS, e.g. 600/60, with at most 86400 seconds.'],
  ])('with %j is refused at the field, in the words of the command', async (form, words) => {
    const { status, text, html } = await post('/accounts/new', form)
    expect(status).toBe(400)
    expect(text).toContain(words)
    expect(html).toContain('aria-invalid="true"')
    const option =
      'rateLimit' in form ? ['--name', 'A', '--rate-limit', form.rateLimit] : ['--name', form.name]
    const { stderr } = await runCli(service, 'account', 'create', ...option)
    expect(stderr).toContain(words)
  })

  test('that is not there has no page', async () => {
    expect((await get(`/accounts/${crypto.randomUUID()}`)).status).toBe(404)
    expect((await get('/accounts/nothing')).status).toBe(404)
  })
})

describe('an API key', () => {
  test('is shown once, with a send to paste, and works', async () => {
    const { text: form } = await get(`/accounts/${accountId}/keys/new`)
    expect(form).toContain('The client may')
    const { status, text, html } = await post(`/accounts/${accountId}/keys/new`, {
      permissions: 'messages:send',
      expiresIn: '90d',
    })
    expect(status).toBe(200)
    expectOnlyOurMarkup(html)
    const [apiKey = ''] = /omk_[0-9A-Za-z]{49}/.exec(text) ?? []
    const answer = await fetch(`${service.url}/v1/key`, { headers: { Authorization: `Bearer ${apiKey}` } })
    expect(answer.status).toBe(200)
    const { text: after } = await get(`/accounts/${accountId}`)
    expect(after).not.toContain(apiKey)
    expect(after).toContain(apiKey.slice(0, 8))
    const [key] = await listApiKeys(service.runtime.db, accountId)
    expect(JSON.stringify(await lastChange(key?.keyId ?? ''))).not.toContain(apiKey)
  })

  test('is revoked after a question', async () => {
    const id = await newAccount('Umbrella')
    const { text } = await post(`/accounts/${id}/keys/new`, { permissions: 'usage:read' })
    const [apiKey = ''] = /omk_[0-9A-Za-z]{49}/.exec(text) ?? []
    const [key] = await listApiKeys(service.runtime.db, id)
    const path = `/accounts/${id}/keys/${key?.keyId}/revoke`
    expect((await get(path)).text).toContain(`Revoke the key ${apiKey.slice(0, 8)}`)
    await post(path, {})
    const [revoked] = await listApiKeys(service.runtime.db, id)
    expect(revoked?.revokedAt).toBeInstanceOf(Date)
    expect(await lastChange(key?.keyId ?? '')).toMatchObject({ by: 'Oz', action: 'key.revoke' })
    expect((await get(`/accounts/${id}`)).text).toContain('revoked')
  })

  test('of another account is not there', async () => {
    const other = await newAccount('Other')
    const [key] = await listApiKeys(service.runtime.db, accountId)
    expect((await post(`/accounts/${other}/keys/${key?.keyId}/revoke`, {})).status).toBe(404)
    expect((await listApiKeys(service.runtime.db, accountId))[0]?.revokedAt).toBeNull()
  })

  test('without a permission, or with one that is unknown, is refused at the field', async () => {
    const { status, text } = await post(`/accounts/${accountId}/keys/new`, {})
    expect([status, text]).toEqual([400, expect.stringContaining('Use one or more of messages:send')])
    expect((await post(`/accounts/${accountId}/keys/new`, { permissions: 'all' })).status).toBe(400)
  })
})

test('a flow is created on the page of its account; the audit names both, with a link to its sends', async () => {
  await post(`/accounts/${accountId}/flows`, { flow: 'Reminders' })
  expect((await get(`/accounts/${accountId}`)).text).toContain('Reminders')
  const { text, html } = await get('/audit?action=flow.create')
  expect(text).toContain('accountId: Acme')
  expect(html).toMatch(/href="\/sends\?flowId=[\w-]{36}">Reminders</)
})

const rules = {
  onUncertain: 'hold',
  ordering: 'contact',
  autoSuppress: 'bounce,complaint,opt_out',
  oneClick: 'off',
}
const twilio = {
  ...rules,
  name: 'Texts',
  'config.accountSid': `AC${'0'.repeat(32)}`,
  'config.authToken': 'a-token-of-tests',
  'config.from': '+15550100100',
}
const newPath = (provider: string, of = accountId) => `/channels/new?accountId=${of}&provider=${provider}`

async function newChannel(
  form: Record<string, string>,
  provider = 'twilio',
  of = accountId,
): Promise<string> {
  const { status, location = '', text } = await post(newPath(provider, of), form)
  expect([status, text]).toEqual([303, expect.anything()])
  return location.split('/').at(-1) ?? ''
}

const configOf = async (channelId: string) => {
  const sealed = (await readSealedConfig(service.runtime.db, channelId)) ?? ''
  return openConfig(sealed, channelId, [service.runtime.settings.CREDENTIALS_KEY])
}

describe('a new channel', () => {
  test('asks for its account and its provider first', async () => {
    const { text, status } = await get('/channels/new?account=')
    expect(status).toBe(200)
    expect(text).toContain('Its name, or its id')
    expect((await get('/channels?account=')).html).toContain('href="/channels/new"')
  })

  test('has a form of the fields of its provider, with words, and no secret in sight', async () => {
    const { html, text } = await get(newPath('twilio'))
    expectOnlyOurMarkup(html)
    for (const name of ['accountSid', 'authToken', 'messagingServiceSid', 'statusCallback'])
      expect(html).toContain(`name="config.${name}"`)
    expect(html).toMatch(/<input id="config\.authToken"[^>]* type="password"/)
    expect(text).toContain('The auth token of the account')
  })

  test('is created as the command creates it', async () => {
    const channelId = await newChannel({
      ...twilio,
      rate: '80/1',
      maxInFlight: '4',
      ceiling: '500 segments/hour',
      expireAfter: '600',
      countries: 'de, at',
      quietHours: '21:00-08:00',
      quietZone: 'contact,Europe/Berlin',
      quietFor: 'bulk',
    })
    expect(await configOf(channelId)).toMatchObject({ authToken: 'a-token-of-tests', from: '+15550100100' })
    expect(await readChannelFields(service.runtime.db, channelId)).toMatchObject({
      name: 'Texts',
      rateCalls: 80,
      maxInFlight: 4,
      ceilings: ['500 segments/hour'],
      expireAfterSeconds: 600,
      countries: ['DE', 'AT'],
      autoSuppress: null,
      quietHours: {
        from: '21:00',
        until: '08:00',
        byContact: true,
        zone: 'Europe/Berlin',
        priorities: ['bulk'],
      },
      fallbackChannelId: null,
    })
    const change = await lastChange(channelId)
    expect(change).toMatchObject({ by: 'Oz', via: 'page', action: 'channel.create' })
    expect(JSON.stringify(change)).not.toContain('a-token-of-tests')
    expect(JSON.stringify(service.logs)).not.toContain('a-token-of-tests')
  })

  test.each([
    ['config.accountSid', { 'config.accountSid': 'AC1' }, 'has to be AC and 32 hexadecimal digits'],
    ['config.authToken', { 'config.authToken': '' }, 'required, or give apiKeySid and apiKeySecret'],
    ['config.baseUrl', { 'config.baseUrl': 'https://10.0.0.1' }, '10.0.0.1 is not a public address'],
    ['rate', { rate: 'fast' }, 'Use N/SECONDS, e.g. 80/1'],
    ['ceiling', { ceiling: '10 messages' }, 'Use an amount, messages or segments'],
    ['countries', { countries: 'XX' }, 'No country has the code XX.'],
    ['quietHours', { quietHours: '21-8' }, 'Use two different times of day'],
    ['name', { name: '' }, 'Use 1 to 256 characters on one line.'],
    ['quietZone', { quietHours: '21:00-08:00', quietZone: 'Mars' }, "Use contact, a zone's IANA name"],
  ])('with a fault of %s is refused at this field, and keeps what was typed', async (field, fault, words) => {
    const { status, html, text } = await post(newPath('twilio'), { ...twilio, rate: '7/1', ...fault })
    expect(status).toBe(400)
    expect(text).toContain(words)
    expect(html).toContain(`id="${field}-issue"`)
    expect(html).toContain('value="+15550100100"')
    expect(html).not.toContain('a-token-of-tests')
    expectOnlyOurMarkup(html)
  })

  test('has no fault that the command does not have, in the same words', async () => {
    const { text } = await post(newPath('twilio'), { ...twilio, 'config.from': '?' })
    const config = JSON.stringify({ accountSid: twilio['config.accountSid'], authToken: 'x', from: '?' })
    const { stderr } = await runCli(
      service,
      ...[
        'channel',
        'create',
        '--account',
        accountId,
        '--provider',
        'twilio',
        '--name',
        'T',
        '--config',
        config,
      ],
    )
    const [, words = 'none'] = /from: (.*)$/m.exec(stderr) ?? []
    expect(text).toContain(words)
  })

  test('by a file of a vendor has the fields of the file', async () => {
    const { html, text } = await get(newPath('africas-talking'))
    expect(html).toMatch(/<input id="config\.apiKey"[^>]* type="password"/)
    expect(text).toContain('The user name of the app; sandbox for the sandbox')
  })

  test('of a key in several lines keeps its lines', async () => {
    const { generateKeyPairSync } = await import('node:crypto')
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const channelId = await newChannel(
      {
        ...rules,
        name: 'V',
        'config.via': 'whatsapp',
        'config.from': '+15550100100',
        'config.applicationId': crypto.randomUUID(),
        'config.privateKey': pem.replaceAll('\n', '\r\n'),
      },
      'vonage',
    )
    expect(await configOf(channelId)).toMatchObject({ privateKey: pem.trim() })
  })
})

describe('a change of a channel', () => {
  test('keeps the secrets that were left empty, and shows none of them', async () => {
    const channelId = await newChannel(twilio)
    const { html, text } = await get(`/channels/${channelId}/change`)
    expect(html).not.toContain('a-token-of-tests')
    expect(html).toContain('value="+15550100100"')
    expect(text).toContain('Empty: what is set stays')
    const { status } = await post(`/channels/${channelId}/change`, {
      ...twilio,
      'config.authToken': '',
      'config.from': '+15550100101',
      rate: '5/1',
    })
    expect(status).toBe(303)
    expect(await configOf(channelId)).toMatchObject({ authToken: 'a-token-of-tests', from: '+15550100101' })
    expect((await lastChange(channelId))?.details).toEqual({
      rateCalls: 5,
      rateCallsBefore: null,
      rateSeconds: 1,
      rateSecondsBefore: null,
      config: 'set',
      'config.from': '+15550100101',
      'config.fromBefore': '+15550100100',
    })
  })

  test('removes a kept value by its box, and what is shown by emptying it', async () => {
    const channelId = await newChannel({ ...twilio, 'config.messagingServiceSid': `MG${'0'.repeat(32)}` })
    const form = {
      ...twilio,
      'config.authToken': '',
      'config.apiKeySid': `SK${'0'.repeat(32)}`,
      'config.apiKeySecret': 'another-secret',
      'config.messagingServiceSid': '',
      remove: 'authToken',
    }
    expect((await post(`/channels/${channelId}/change`, form)).status).toBe(303)
    const config = await configOf(channelId)
    expect(config).not.toHaveProperty('authToken')
    expect(config).not.toHaveProperty('messagingServiceSid')
    expect(config).toMatchObject({ apiKeySecret: 'another-secret' })
  })

  test('that changes nothing leaves no row in the audit', async () => {
    const channelId = await newChannel(twilio)
    const before = await lastChange(channelId)
    const { status } = await post(`/channels/${channelId}/change`, { ...twilio, 'config.authToken': '' })
    expect(status).toBe(303)
    expect(await lastChange(channelId)).toEqual(before)
  })

  test('sets a fallback, and takes it off; a circle is refused at the field', async () => {
    const one = await newChannel(twilio)
    const other = await newChannel({ ...twilio, name: 'Other texts' })
    const form = { ...twilio, 'config.authToken': '' }
    const set = (id: string, fallback: string, more: object = {}) =>
      post(`/channels/${id}/change`, { ...form, fallback, ...more })
    expect((await set(one, other, { fallbackOn: 'failed', fallbackWithin: '60' })).status).toBe(303)
    expect(await readChannelFields(service.runtime.db, one)).toMatchObject({
      fallbackChannelId: other,
      fallbackOn: ['failed'],
      fallbackWithinSeconds: 60,
    })
    const { status, html } = await set(other, one)
    expect([status, html]).toEqual([400, expect.stringContaining('id="fallback-issue"')])
    expect((await set(one, '')).status).toBe(303)
    expect(await readChannelFields(service.runtime.db, one)).toMatchObject({
      fallbackChannelId: null,
      fallbackOn: null,
      fallbackWithinSeconds: null,
    })
  })

  test('a channel that a page made is changed by the command, and the other way round', async () => {
    const channelId = await newChannel({ ...rules, name: 'Trial' }, 'sandbox')
    const update = ['channel', 'update', channelId, '--rate', '9/1', '--auto-suppress', 'bounce']
    expect((await runCli(service, ...update)).status).toBe(0)
    const { html } = await get(`/channels/${channelId}/change`)
    expect(html).toContain('value="9/1"')
    await post(`/channels/${channelId}/change`, { ...rules, name: 'Trial', autoSuppress: 'bounce', rate: '' })
    const [channel] = (await listChannels(service.runtime.db, accountId)).filter(
      (one) => one.channelId === channelId,
    )
    expect(channel).toMatchObject({ rateCalls: null, autoSuppress: ['bounce'] })
  })
})

test('a channel is deleted after a question', async () => {
  const channelId = await newChannel({ ...rules, name: 'Gone' }, 'sandbox')
  expect((await get(`/channels/${channelId}/delete`)).text).toContain('Delete the channel Gone?')
  expect((await post(`/channels/${channelId}/delete`, {})).status).toBe(303)
  expect((await get(`/channels/${channelId}`)).text).toContain('deleted')
  expect((await get(`/channels/${channelId}/change`)).status).toBe(404)
  expect(await lastChange(channelId)).toMatchObject({ by: 'Oz', action: 'channel.delete' })
})

test('what was typed is text in the page, never markup', async () => {
  const plant = `x'"><script>alert(1)</script></textarea><img src=x>`
  const { html, status } = await post(newPath('smtp'), {
    ...rules,
    name: `${plant}\n`,
    'config.from': plant,
    'config.headers': plant,
    rate: plant,
  })
  expect(status).toBe(400)
  expectOnlyOurMarkup(html)
})

test('without CREDENTIALS_KEY and API_KEY_PEPPER, the pages say what to set, and change nothing', async () => {
  const bare = await startTestAdmin(service)
  const own = { headers: await signIn(bare, 'Oz') }
  for (const path of [`/accounts/${accountId}/keys/new`, newPath('sandbox')]) {
    const form = { ...rules, name: newContact(), permissions: 'usage:read' }
    const { status, text } = await ask(bare, path, { ...own, form })
    expect([status, text]).toEqual([503, expect.stringContaining('for the admin process')])
  }
  await bare.stop()
})

test('support is refused each form of the set-up, and is offered none', async () => {
  await buildPerson(service, 'Ann', 'support')
  const support = { headers: await signIn(admin, 'Ann') }
  const channelId = await newChannel({ ...rules, name: 'Seen' }, 'sandbox')
  for (const path of ['/accounts', '/accounts/new', newPath('sandbox'), `/channels/${channelId}/change`])
    expect((await ask(admin, path, support)).status, path).toBe(403)
  for (const path of ['/channels?account=', `/channels/${channelId}`]) {
    const { html } = await ask(admin, path, support)
    expect(html).not.toMatch(/href="\/(accounts|channels\/new|channels\/[^"]*\/(change|delete))/)
  }
})
