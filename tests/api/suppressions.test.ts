import { expect, test } from 'vitest'
import { eraseSuppressions } from '../../db/suppression/entries.ts'
import { causes } from '../../src/core/suppression/suppression.ts'
import { allPages, ask } from '../support/account-routes.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { expectError } from '../support/expect-error.ts'
import { finishedTimeline, serviceOfFile, testSuppressionKey } from '../support/service.ts'

const service = await serviceOfFile()
const path = '/v1/suppressions'

const manager = () =>
  buildAccount(service, { permissions: ['messages:send', 'messages:read', 'suppressions:manage'] })

test('an added contact is listed whole, gets nothing, and gets sends again once its entry is deleted', async () => {
  const by = await manager()
  const { status, body } = await ask(service, by, 'POST', path, {
    contact: { value: 'Ann@EXAMPLE.com' },
    reason: 'asked by letter',
  })
  expect({ status, body }).toMatchObject({
    status: 201,
    body: {
      contact: { type: 'email', value: 'Ann@example.com' },
      channelId: null,
      cause: 'manual',
      reason: 'asked by letter',
    },
  })
  const { requestId: _, ...entry } = body
  expect(await allPages(service, by, path, 'suppressions')).toEqual([{ ...entry, requestId: null }])

  const worker = await service.startWorker()
  const refused = await accept(service, by, textBody('Hello', 'Ann@example.com'))
  const timeline = await finishedTimeline(service, refused, by.apiKey)
  expect(timeline.events.at(-1)).toMatchObject({ event: 'failed', reason: causes.manual.storedReason })
  expect((await ask(service, by, 'DELETE', `${path}/${entry.suppressionId}`)).status).toBe(204)
  const requestId = await accept(service, by, textBody('Hello', 'Ann@example.com'))
  expect((await finishedTimeline(service, requestId, by.apiKey)).status).toBe('sent')
  await worker.stop()
  expectError(
    await ask(service, by, 'DELETE', `${path}/${entry.suppressionId}`),
    404,
    'Suppression not found',
  )
})

test('the same again answers with the entry that is there; one of a channel is another', async () => {
  const by = await manager()
  const contact = { value: '0049 151 12345678' }
  const add = async (more = {}) =>
    (await ask(service, by, 'POST', path, { contact, ...more })).body.suppressionId
  const first = await add()
  expect(await add({ reason: 'another', channelId: null })).toBe(first)
  expect(await add({ channelId: by.channelId })).not.toBe(first)
})

test('an entry whose contact was erased is listed as `erased`, without its reason', async () => {
  const by = await manager()
  const contact = { value: 'ann@example.com', type: 'email' } as const
  const { body } = await ask(service, by, 'POST', path, { contact, reason: 'asked by Ann' })
  const { accountId } = by
  await eraseSuppressions(service.runtime.db, { accountId, contact }, testSuppressionKey)
  expect(await allPages(service, by, path, 'suppressions')).toMatchObject([
    { suppressionId: body.suppressionId, contact: { type: 'email', value: 'erased' }, reason: null },
  ])
})

test('pages go through all entries once, and those of one contact can be asked for', async () => {
  const by = await manager()
  const values = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@example.com`)
  for (const value of values) await ask(service, by, 'POST', path, { contact: { value } })
  await ask(service, by, 'POST', path, { contact: { value: values[1] }, channelId: by.channelId })
  const listed = await allPages(service, by, path, 'suppressions')
  expect(listed.map(({ contact }) => contact.value)).toEqual([...values, values[1]])
  const ofOne = await allPages(service, by, `${path}?contact=b%40example.com`, 'suppressions', 1)
  expect(ofOne.map(({ channelId }) => channelId)).toEqual([null, by.channelId])
})

test('another account sees and removes nothing of it, and a channel of another looks absent', async () => {
  const [by, foreign] = [await manager(), await manager()]
  const { body } = await ask(service, by, 'POST', path, { contact: { value: 'ann@example.com' } })
  expect(await allPages(service, foreign, path, 'suppressions')).toEqual([])
  expectError(
    await ask(service, foreign, 'DELETE', `${path}/${body.suppressionId}`),
    404,
    'Suppression not found',
  )
  const elsewhere = { contact: { value: 'ann@example.com' }, channelId: foreign.channelId }
  expectError(await ask(service, by, 'POST', path, elsewhere), 404, 'Channel not found')
})

test('a key without the permission is refused', async () => {
  const by = await buildAccount(service)
  for (const [method, at] of [
    ['GET', path],
    ['POST', path],
    ['DELETE', `${path}/x`],
  ] as const)
    expectError(
      await ask(service, by, method, at),
      403,
      'This API key lacks the permission suppressions:manage.',
    )
})

test.each([
  [{}, 'contact: required'],
  [{ contact: { value: 'nobody' } }, 'contact.value: has to be a phone number'],
  [{ contact: { value: 'ann@example.com', type: 'phone' } }, 'contact.value: has to be a phone number'],
  [{ contact: { value: 'ann@example.com', name: 'Ann' } }, 'contact.name: unknown field'],
  [{ contact: { value: 'ann@example.com' }, reason: '' }, 'reason: is empty'],
  [{ contact: { value: 'ann@example.com' }, reason: 'a\nb' }, 'reason: contains a control character'],
  [{ contact: { value: 'ann@example.com' }, cause: 'bounce' }, 'cause: unknown field'],
])('a body that can’t be is refused by field: %j', async (body, message) => {
  const answer = await ask(service, await manager(), 'POST', path, body)
  expect(answer.status).toBe(400)
  expect(answer.body.message).toContain(message)
})

test('a DELETE of an absent entry is a 404 that uses up no rate limit', async () => {
  const by = await manager()
  const left = async () => {
    const { headers } = await ask(service, by, 'GET', path)
    return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
  }
  const before = await left()
  const absent = `${path}/01890000-0000-7000-8000-000000000000`
  expectError(await ask(service, by, 'DELETE', absent), 404, 'Suppression not found')
  expect(await left()).toBe(before - 1)
})
