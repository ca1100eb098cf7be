import { afterAll, beforeAll, expect, test } from 'vitest'
import { contactsFor } from '../../src/admin/page/masking.ts'
import { builtIn } from '../../src/core/accounts/person.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { type Account, accept, buildAccount, newContact } from '../support/builders.ts'
import { ask, buildPerson, signIn } from '../support/people.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { StoodStill } from '../support/standstill.ts'

let service: TestService
let admin: TestAdmin
let showing: TestAdmin
let account: Account
let waiting: string
let failed: string
const contact = newContact()

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  showing = await startTestAdmin(service, { SUPPORT_SHOW_CONTENT: 'true' })
  account = await buildAccount(service)
  await buildPerson(service, 'Ann', 'support')
  await buildPerson(service, 'Oz', 'operator')
  const message = { type: 'text', text: { value: 'Hello' } }
  await service.startWorker('test-worker')
  const sent = await accept(service, account, { contact: { value: contact }, message })
  await finishedTimeline(service, sent, account.apiKey)
  failed = sent
  await service.runtime.db.$client.query(
    `update sends set status = 'failed', failure = 'for a test' where request_id = $1`,
    [failed],
  )
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  waiting = await accept(service, account, { contact: { value: contact }, message, sendAt })
})
afterAll(async () => {
  await admin.stop()
  await showing.stop()
  await service.stop()
})

const pages = () => [
  `/support/${failed}`,
  `/support/${failed}/replay`,
  `/support/${waiting}/cancel`,
  `/sends?channelId=${account.channelId}`,
  `/sends.csv?channelId=${account.channelId}`,
  `/contact?requestId=${failed}`,
  '/inbox',
]

async function seen(by: 'Ann' | 'Oz', at: TestAdmin): Promise<boolean[]> {
  const headers = await signIn(at, by)
  const answers = [...(await Promise.all(pages().map((path) => ask(at, path, { headers }))))]
  if (answers.some(({ status }) => status === 503)) throw new StoodStill('a page had waited too long')
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  // A search shows again what was typed.
  return answers.map(({ html }) => html.replace(/<form.*?<\/form>/gs, '').includes(contact.slice(4)))
}

test('support sees no whole contact on any page, operators do', async () => {
  expect(await seen('Ann', admin)).toEqual(Array(7).fill(false))
  expect(await seen('Oz', admin)).toEqual(Array(7).fill(true))
})

test('with SUPPORT_SHOW_CONTENT both do', async () => {
  expect(await seen('Ann', showing)).toEqual(Array(7).fill(true))
})

test('who shares ADMIN_PASSWORD sees them masked', () => {
  expect(contactsFor(builtIn, { SUPPORT_SHOW_CONTENT: false })).toBe('masked')
  expect(contactsFor({ ...builtIn }, { SUPPORT_SHOW_CONTENT: false })).toBe('whole')
  expect(contactsFor(builtIn, { SUPPORT_SHOW_CONTENT: true })).toBe('whole')
})
