import crypto, { createHash } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { addPerson } from '../../db/people/people.ts'
import { hashPassword } from '../../src/core/accounts/password.ts'
import { mintMediaLink } from '../../src/core/messages/media-link.ts'
import { absentId } from '../support/absent-id.ts'
import { startTestAdmin } from '../support/admin.ts'
import { type Account, buildAccount, request } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { ask } from '../support/people.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { sendReport, whatsAppConfig, whatsAppReport } from '../support/receipts.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Node's own, which also records what it was asked to compare. */
const compare = vi.spyOn(crypto, 'timingSafeEqual')
const derive = vi.spyOn(crypto, 'scrypt')
syncBuiltinESMExports()

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService({ PUBLIC_BASE_URL: 'https://messages.example.com' })
  account = await buildAccount(service)
})
afterAll(async () => {
  await service.stop()
  compare.mockRestore()
  derive.mockRestore()
  syncBuiltinESMExports()
})
beforeEach(() => void compare.mockClear())

const compared = () => compare.mock.calls.flat().map(String)

const otherThan = (text: string) => text.slice(0, -1) + (text.endsWith('a') ? 'b' : 'a')

test('the checksum of an API key is compared in constant time', async () => {
  for (const [apiKey, status] of [
    [account.apiKey, 404],
    [otherThan(account.apiKey), 401],
  ] as const) {
    const headers = { Authorization: `Bearer ${apiKey}` }
    expectError(await request(service, `/v1/messages/${absentId}`, { headers }), status)
    expect(compared()).toContain(apiKey.slice(-6))
  }
})

test('the signature of a media link is compared in constant time', async () => {
  const { CREDENTIALS_KEY } = service.runtime.settings
  const link = mintMediaLink('http://x', absentId, new Date(Date.now() + 60_000), CREDENTIALS_KEY)
  for (const path of [new URL(link).pathname, otherThan(new URL(link).pathname)]) {
    expectError(await request(service, path), 404)
    expect(compared()).toContain(path.split('.').at(-1))
  }
})

test('the proof of a receipt is compared in constant time', async () => {
  const hashOf = (text: string) => String(createHash('sha256').update(text).digest())
  const channelId = await buildProviderChannel(service, account.accountId, 'whatsapp-cloud', whatsAppConfig)
  const { url, headers, body } = whatsAppReport(service, channelId, [])
  const signature = headers['x-hub-signature-256'] ?? ''
  for (const [given, status] of [
    [signature, 200],
    [otherThan(signature), 403],
  ] as const) {
    const answer = await sendReport({ url, headers: { ...headers, 'x-hub-signature-256': given }, body })
    expect(answer.status).toBe(status)
    expect(compared()).toEqual(expect.arrayContaining([hashOf(given), hashOf(signature)]))
  }
})

test('the password of the admin process is compared in constant time', async () => {
  const admin = await startTestAdmin(service, { ADMIN_PASSWORD: 'correct horse' })
  const hashOf = (text: string) => String(createHash('sha256').update(text).digest())
  for (const [password, status] of [
    ['correct horse', 200],
    ['correct cow', 401],
  ] as const) {
    const Authorization = `Basic ${btoa(`admin:${password}`)}`
    expect((await fetch(`${admin.url}/admin.css`, { headers: { Authorization } })).status).toBe(status)
    expect(compared()).toEqual(expect.arrayContaining([hashOf(password), hashOf('correct horse')]))
  }
  await admin.stop()
})

test('a sign-in of an unknown name takes the same work as one of a known name', async () => {
  const admin = await startTestAdmin(service)
  await addPerson(
    service.runtime.db,
    { name: 'Ann', role: 'support' },
    await hashPassword('a right password'),
  )
  const workOf = async (name: string) => {
    compare.mockClear()
    derive.mockClear()
    expect((await ask(admin, '/login', { form: { name, password: 'a wrong password' } })).status).toBe(401)
    const derived = derive.mock.calls.map(([, salt, length, cost]) => [(salt as Buffer).length, length, cost])
    return {
      derived,
      compared: compare.mock.calls.map((values) => values.map(({ byteLength }) => byteLength)),
    }
  }
  const work = await workOf('Ann')
  expect(work).toMatchObject({ derived: [[16, 32, { N: 32_768, r: 8, p: 3 }]], compared: [[32, 32]] })
  for (const name of ['Nobody', '', 'x'.repeat(1000)]) expect(await workOf(name)).toEqual(work)
  await admin.stop()
})
