import { expect, test } from 'vitest'
import { absentId } from '../support/absent-id.ts'
import { type Account, buildAccount, buildKey, post, request, textBody } from '../support/builders.ts'
import { expectError, expectNothingAccepted } from '../support/expect-error.ts'
import { rawRequest } from '../support/raw-http.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const { accountId } = account
const reader = { ...account, ...(await buildKey(service, accountId, { permissions: ['messages:read'] })) }
const sender = { ...account, ...(await buildKey(service, accountId, { permissions: ['messages:send'] })) }

function read(by: Account, requestId: string) {
  return request(service, `/v1/messages/${requestId}`, {
    headers: { Authorization: `Bearer ${by.apiKey}` },
  })
}

test('a key that may only read sends nothing, on either endpoint', async () => {
  const inPath = await post(service, reader, textBody())
  const inBody = await request(service, '/v1/messages', {
    method: 'POST',
    headers: { Authorization: `Bearer ${reader.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ channelId: reader.channelId, ...textBody() }),
  })
  for (const answer of [inPath, inBody]) {
    expectError(answer, 403, /messages:send/)
    await expectNothingAccepted(service, answer)
  }
})

test('a key that may only send reads nothing, not even what it sent', async () => {
  const { body } = await post(service, sender, textBody())
  expectError(await read(sender, body.requestId), 403, /messages:read/)
  expect((await read(reader, body.requestId)).status).toBe(200)
})

test('a key without any permission neither sends nor reads', async () => {
  const none = { ...account, ...(await buildKey(service, account.accountId, { permissions: [] })) }
  expectError(await post(service, none, textBody()), 403, /messages:send/)
  expectError(await read(none, absentId), 403, /messages:read/)
})

test.each([
  ['a malformed body', '{', {}],
  ['an empty body', '', {}],
  ['an unknown field', { ...textBody(), surplus: 1 }, {}],
  ['a wrong content type', textBody(), { 'Content-Type': 'text/plain' }],
])('the permission is checked before %s', async (_what, body, headers) => {
  expectError(await post(service, reader, body, headers), 403)
})

test('the permission is checked before the channel, so that a 403 reveals nothing about channels', async () => {
  expectError(await post(service, { ...reader, channelId: absentId }, textBody()), 403)
})

test('the permission is checked before the body is read', async () => {
  const answer = await rawRequest(service, {
    path: `/v1/channels/${account.channelId}/messages`,
    headers: { Authorization: `Bearer ${reader.apiKey}`, 'Content-Type': 'application/json' },
    chunks: ['{'],
    keepOpen: true,
  })
  expectError(answer, 403)
})
