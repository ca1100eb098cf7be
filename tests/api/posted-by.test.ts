import { sql } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { findPostedBy } from '../../db/sends/same-content.ts'
import { idempotencyKeyWords } from '../../src/core/sends/posted-by.ts'
import { accept, buildAccount, post, request, textBody } from '../support/builders.ts'
import { cancel, inSeconds, makeDue, moveDue, postBatch } from '../support/later.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const { apiKey, keyId } = account
const shown = { apiKeyId: keyId, apiKeyPrefix: apiKey.slice(0, 8) }
const postedBy = (requestId: string) => findPostedBy(service.runtime.db, requestId)

const later = () => ({ ...textBody(), sendAt: inSeconds(3600) })
const media = { mediaType: 'document', base64: Buffer.alloc(600_000).toString('base64') }

test.each<[string, object, Record<string, string>?]>([
  ['alone', textBody()],
  ['with an Idempotency-Key', textBody(), { 'Idempotency-Key': uuidv7() }],
  ['with media', { ...textBody(), message: { type: 'media', media: { ...media, base64: 'QUJD' } } }],
  ['with large media', { ...textBody(), message: { type: 'media', media } }],
  ['for later', later()],
])('a send that is posted %s has its API key', async (_, body, headers) => {
  const { status, body: answer } = await post(service, account, body, headers)
  expect(status).toBe(202)
  expect(await postedBy(answer.requestId)).toMatchObject(shown)
})

test('all sends of a batch have their API key, and the Idempotency-Key of the batch', async () => {
  const { body } = await postBatch(service, account, [textBody(), later()], { 'Idempotency-Key': uuidv7() })
  for (const { requestId } of body.messages) {
    const posted = await postedBy(requestId)
    expect(posted).toMatchObject({ ...shown, isBatch: true })
    expect(posted && idempotencyKeyWords(posted)).toMatch(/^of its batch, with the hash [0-9a-f]{8}…$/)
  }
})

test('a scheduled send keeps its API key when its time comes, and when it is canceled', async () => {
  const due = await accept(service, account, later())
  const canceled = await accept(service, account, later())
  await makeDue(service, due)
  await moveDue(service)
  expect((await cancel(service, account, canceled)).status).toBe(200)
  const moved = sql`select request_id from sends where request_id in (${due}, ${canceled})`
  expect((await service.runtime.db.execute(moved)).rows).toHaveLength(2)
  expect(await postedBy(due)).toMatchObject(shown)
  expect(await postedBy(canceled)).toMatchObject(shown)
})

test('the client’s timeline doesn’t have the API key', async () => {
  const requestId = await accept(service, account, textBody())
  const { body } = await request(service, `/v1/messages/${requestId}`, {
    headers: { Authorization: `Bearer ${apiKey}` },
  })
  expect(JSON.stringify(body)).not.toContain(keyId)
  expect(JSON.stringify(body)).not.toContain(shown.apiKeyPrefix)
})
