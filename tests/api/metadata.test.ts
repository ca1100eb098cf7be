import { expect, test } from 'vitest'
import { claimEndpoints } from '../../db/callbacks/endpoint-claims.ts'
import { eraseContact } from '../../db/upkeep/erase.ts'
import { callbackBody } from '../../src/core/callbacks/callback.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import { timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, post, sameBody, textBody } from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { expectError } from '../support/expect-error.ts'
import { cancel, inSeconds, list, makeDue, moveDue, postBatch } from '../support/later.ts'
import { livingWorker } from '../support/living-worker.ts'
import { serviceOfFile } from '../support/service.ts'
import { expectAccepted, expectReplay, newKey, postKeyed, postKeyedInBody } from './keyed.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const metadata = { shop: 'Berlin-Zebrastreifen', 'order.no': '4711', empty: '' }

const metadataOf = async (requestId: string) => (await timelineOf(service, requestId)).metadata

test('metadata comes back from GET and from the list, by both routes and a batch, at once and later', async () => {
  const body = { ...textBody(), metadata }
  const ids = [
    await accept(service, account, body),
    expectAccepted(await postKeyedInBody(service, account, newKey(), { ...textBody(), metadata })),
    await accept(service, account, { ...textBody(), metadata, sendAt: inSeconds(3600) }),
  ]
  const messages = [{ channelId: account.channelId, ...textBody(), metadata }]
  const batch = await postBatch(service, account, messages)
  ids.push(...batch.body.messages.map(({ requestId }: { requestId: string }) => requestId))
  const due = await accept(service, account, { ...textBody(), metadata, sendAt: inSeconds(3600) })
  await makeDue(service, due)
  await moveDue(service)
  for (const requestId of [...ids, due]) expect(await metadataOf(requestId)).toEqual(metadata)
  const listed = await list(service, account)
  expect(listed.body.messages).toHaveLength(5)
  for (const one of listed.body.messages) expect(one.metadata).toEqual(metadata)
})

test('a send without metadata has none, and null counts as none', async () => {
  expect(await metadataOf(await accept(service, account, textBody()))).toBeNull()
  expect(await metadataOf(await accept(service, account, { ...textBody(), metadata: null }))).toBeNull()
})

test('a callback has the metadata of its send', async () => {
  const own = await buildAccount(service)
  const endpoint = await buildEndpoint(service, own.accountId, 'https://example.com/')
  const requestId = await accept(service, own, { ...textBody(), metadata, sendAt: inSeconds(3600) })
  await cancel(service, own, requestId)
  await livingWorker(service, 'caller')
  const claim = { endpointId: endpoint.endpointId, claimId: newId(), limit: 10, except: [] }
  const [claimed] = await claimEndpoints(service.runtime.db, [claim], 'caller')
  const [callback] = claimed?.callbacks ?? []
  expect(callback && JSON.parse(callbackBody(callback)).data).toMatchObject({ requestId, metadata })
})

const of = (given: unknown) => post(service, account, { ...textBody(), metadata: given })
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v']))

test.each([
  ['20 entries', many(20)],
  ['no entry', {}],
  ['a name of 64 characters', { ['k'.repeat(64)]: 'v' }],
  ['a value of 500 characters', { k: '😀'.repeat(500) }],
])('metadata may have %s', async (_, given) => {
  expect((await of(given)).status).toBe(202)
})

const names = 'metadata: each name has to be 1 to 64 of letters, digits, _, . and -'
test.each([
  [many(21), 'metadata: at most 20 entries'],
  [{ ['k'.repeat(65)]: 'v' }, names],
  [{ '': 'v' }, names],
  [{ 'a b': 'v' }, names],
  [JSON.parse('{"__proto__":"v"}'), names],
  [{ k: 'x'.repeat(501) }, 'metadata.k: at most 500 characters'],
  [{ k: 'a\0b' }, 'metadata.k: contains NUL or half a surrogate pair'],
  [{ k: 7 }, /^metadata\.k: /],
  [{ k: null }, /^metadata\.k: /],
  [{ k: { deeper: 'v' } }, /^metadata\.k: /],
  [['v'], 'metadata: has to be an object'],
  ['v', 'metadata: has to be an object'],
])('metadata %j is a 400 that names it', async (given, message) => {
  expectError(await of(given), 400, message)
})

test('neither a name nor a value of metadata is in the log, of an accepted or a refused request', async () => {
  await accept(service, account, { ...textBody(), metadata: { zebra: 'crossing' } })
  const answer = await of({ zebra: 'crossing'.repeat(100) })
  expectError(answer, 400, 'metadata.zebra: at most 500 characters')
  expect(service.logsOf(answer.body.requestId)).toMatchObject([
    { reason: 'metadata: at most 500 characters' },
  ])
  const lines = JSON.stringify(service.logs)
  expect(lines).not.toMatch(/zebra|crossing/i)
})

test('the same metadata in another order repeats a request, other metadata is another request', async () => {
  const key = newKey()
  const body = { ...sameBody(), metadata: { a: '1', b: '2' } }
  const requestId = expectAccepted(await postKeyed(service, account, key, body))
  expectReplay(await postKeyed(service, account, key, { ...body, metadata: { b: '2', a: '1' } }), requestId)
  expectError(await postKeyed(service, account, key, { ...body, metadata: { a: '1', b: '3' } }), 422)
  expectError(await postKeyed(service, account, key, sameBody()), 422)
})

test('an erased contact’s metadata is gone', async () => {
  const own = await buildAccount(service)
  const body = textBody()
  const requestId = await accept(service, own, { ...body, metadata, sendAt: inSeconds(3600) })
  await cancel(service, own, requestId)
  const contact = { type: 'phone', value: body.contact.value } as const
  expect(await eraseContact(service.runtime.db, { accountId: own.accountId, contact })).toMatchObject({
    erased: 1,
  })
  expect(await metadataOf(requestId)).toBeNull()
})
