import { expect, test } from 'vitest'
import { type Account, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { expectError, expectNothingAccepted, holdings } from '../support/expect-error.ts'
import { serviceOfFile } from '../support/service.ts'
import { expectAccepted, expectReplay, newKey, postKeyed, postKeyedInBody } from './keyed.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const first = textBody('Hello', '+4915112345678')
const usedFor = (requestId: string) =>
  new RegExp(`^Idempotency-Key: was used for another request, ${requestId}; use a new key for each send$`)
const document = (base64: string) => ({
  contact: first.contact,
  message: { type: 'media', media: { mediaType: 'document', base64 } },
})

test.each<[string, (account: Account) => object]>([
  ['another text', () => textBody('Goodbye')],
  ['another contact', () => textBody('Hello', '+4915112345679')],
  ['a contact with a name', () => ({ ...first, contact: { ...first.contact, name: 'Ann' } })],
  ['a contact of another type', () => textBody('Hello', 'ann@example.com')],
  ['a flow', ({ flowId }) => ({ ...first, flowId })],
  ['closeConversation', () => ({ ...first, closeConversation: true })],
  ['a template', () => ({ ...first, message: { type: 'template', template: { name: 'Hello' } } })],
  ['media', () => document('QUJD')],
])('a key that was used is refused for %s, and nothing comes of it', async (_what, change) => {
  const key = newKey()
  const requestId = expectAccepted(await postKeyed(service, account, key, first))
  const before = await holdings(service)
  for (const send of [postKeyed, postKeyedInBody]) {
    const answer = await send(service, account, key, change(account))
    expectError(answer, 422, usedFor(requestId))
    expect(answer.body.requestId).not.toBe(requestId)
    expect(answer.headers.get('Idempotent-Replayed')).toBeNull()
    await expectNothingAccepted(service, answer)
  }
  expect(await holdings(service)).toEqual(before)
})

test('so it is for media of another content', async () => {
  const key = newKey()
  const requestId = expectAccepted(await postKeyed(service, account, key, document('QUJD')))
  expectError(await postKeyed(service, account, key, document('QUJE')), 422)
  expectReplay(await postKeyed(service, account, key, document('QUJD')), requestId)
})

test('so it is for another channel of the account', async () => {
  const key = newKey()
  const requestId = expectAccepted(await postKeyed(service, account, key, first))
  const other = { ...account, channelId: await buildChannel(service, account.accountId) }
  expectError(await postKeyed(service, other, key, first), 422)
  expectError(await postKeyedInBody(service, other, key, first), 422)
  expectReplay(await postKeyed(service, account, key, first), requestId)
})

test('after it, the key still replays the first send, and another key is accepted', async () => {
  const key = newKey()
  const requestId = expectAccepted(await postKeyed(service, account, key, first))
  expectError(await postKeyed(service, account, key, textBody('other')), 422)
  expectReplay(await postKeyed(service, account, key, first), requestId)
  expectAccepted(await postKeyed(service, account, newKey(), textBody('other')))
})

test('it is one line in the log, with neither the key nor the content', async () => {
  const key = newKey()
  await postKeyed(service, account, key, textBody('a secret'))
  const { body } = await postKeyed(service, account, key, textBody('another secret'))
  expect(service.logsOf(body.requestId)).toMatchObject([{ event: 'rejected', statusCode: 422 }])
  const logs = JSON.stringify(service.logs)
  for (const word of [key, 'a secret', 'another secret']) expect(logs).not.toContain(word)
})
