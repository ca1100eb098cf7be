import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { ask, buildPerson, signIn } from '../support/people.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let account: Account
let contact: string
let ann: { Cookie: string }

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  await buildPerson(service, 'Ann', 'support')
  ann = await signIn(admin, 'Ann')
  await service.startWorker()
})
beforeEach(async () => {
  account = await buildAccount(service)
  contact = newContact()
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const suppress = (fields: object) =>
  ask(admin, '/contact/suppress', {
    form: { accountId: account.accountId, contact, channelId: '', reason: '', ...fields },
    headers: ann,
  })

async function sent(): Promise<string> {
  const requestId = await accept(service, account, textBody('Hello', contact))
  await finishedTimeline(service, requestId, account.apiKey)
  return requestId
}

const pageOf = async (requestId: string) => (await ask(admin, `/support/${requestId}`, { headers: ann })).text

test('the page of a send says who suppressed its contact, since when, and why', async () => {
  await suppress({ reason: 'asked on the phone' })
  const text = await pageOf(await sent())
  expect(text).toContain('Conversation none Attempts')
  expect(text).toMatch(
    /Its contact is suppressed on all channels since [-\d]+ [:\d]+ UTC : by hand, added by Ann \. Reason: asked on the phone\./,
  )
})

test('of a suppression that a send caused, it has that send', async () => {
  const cause = await sent()
  await service.runtime.db.$client.query(
    `insert into suppressions (id, account_id, contact_type, contact_value, channel_id, cause, request_id)
     values (gen_random_uuid(), $1, 'phone', $2, $3, 'complaint', $4)`,
    [account.accountId, contact, account.channelId, cause],
  )
  const { html, text } = await ask(admin, `/support/${await sent()}`, { headers: ann })
  expect(text).toContain(': complaint, caused by a send . No reason was given.')
  expect(html).toContain(`<a href="/support/${cause}">a send</a>`)
})

test('a suppression on a channel that never had the send is not on its page', async () => {
  await suppress({ channelId: await buildChannel(service, account.accountId) })
  expect(await pageOf(await sent())).not.toContain('Its contact is suppressed')
})

test('after the suppression was removed, the page says that there was one when the send ended', async () => {
  await suppress({})
  const requestId = await sent()
  await service.runtime.db.$client.query('delete from suppressions where account_id = $1', [
    account.accountId,
  ])
  expect(await pageOf(requestId)).toContain(
    'Its contact was suppressed when it ended. The entry was removed since',
  )
})
