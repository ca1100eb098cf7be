import { eq } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { media, sandboxMessages } from '../../db/schema.ts'
import { type Account, buildAccount, buildKey, post, sameBody } from '../support/builders.ts'
import { holdings } from '../support/expect-error.ts'
import { samples } from '../support/media-samples.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'
import {
  ageKey,
  expectAccepted,
  expectReplay,
  keptOf,
  newKey,
  postKeyed,
  postKeyedInBody,
  sendsOf,
} from './keyed.ts'

let account: Account

const service = await serviceOfFile()

const hour = 3600

async function freshAccount(): Promise<Account> {
  account = await buildAccount(service)
  return account
}

const mediaBody = (content = samples.png, caption = 'A dot') => ({
  contact: { value: '+4915112345678' },
  message: {
    type: 'media',
    media: { mediaType: 'image', base64: content.toString('base64'), caption },
  },
})

const templateBody = (value = 'Ann') => ({
  contact: { value: '+4915112345678' },
  message: { type: 'template', template: { name: 'greeting', variables: [{ key: 'name', value }] } },
})

const setGreeting = (text: string) =>
  setTemplate(service.runtime.db, { channelId: account.channelId, name: 'greeting', definition: { text } })

describe('a replay', () => {
  const endpoints = { 'the channel in the path': postKeyed, 'the channel in the body': postKeyedInBody }
  const names = Object.keys(endpoints) as (keyof typeof endpoints)[]

  test.each(names.flatMap((first) => names.map((second) => [first, second] as const)))(
    'is answered with the first requestId and makes no second row or job: first %s, then %s',
    async (first, second) => {
      await freshAccount()
      const key = newKey()
      const requestId = expectAccepted(await endpoints[first](service, account, key, sameBody()))
      const before = await holdings(service)
      expectReplay(await endpoints[second](service, account, key, sameBody()), requestId)
      expectReplay(await endpoints[second](service, account, key, sameBody()), requestId)
      expect(await holdings(service)).toEqual(before)
      expect((await sendsOf(service, account)).map((send) => send.requestId)).toEqual([requestId])
    },
  )

  test('is answered as the first one was, whichever key of the account is used', async () => {
    await freshAccount()
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, account, key, sameBody()))
    const second = { ...account, ...(await buildKey(service, account.accountId)) }
    expectReplay(await postKeyed(service, second, key, sameBody()), requestId)
  })

  test('may be formatted differently, and so may its key', async () => {
    await freshAccount()
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, account, key, sameBody('Hello')))
    const { contact, message } = sameBody('Hello', '0049 (151) 123-45.678')
    expectReplay(await postKeyed(service, account, `"${key}"`, { message, contact }), requestId)
  })

  test('of media makes no second content', async () => {
    await freshAccount()
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, account, key, mediaBody()))
    const kept = await service.runtime.db.select().from(media)
    expectReplay(await postKeyed(service, account, key, mediaBody()), requestId)
    expectReplay(await postKeyedInBody(service, account, key, mediaBody()), requestId)
    expect(await service.runtime.db.select().from(media)).toEqual(kept)
    expect(await sendsOf(service, account)).toHaveLength(1)
  })

  test('of a send that has been sent makes no second delivery', async () => {
    await freshAccount()
    const { stop } = await service.startWorker()
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, account, key, sameBody()))
    await finishedTimeline(service, requestId, account.apiKey)
    expectReplay(await postKeyed(service, account, key, sameBody()), requestId)
    const next = expectAccepted(await post(service, account, sameBody('next')))
    await finishedTimeline(service, next, account.apiKey)
    await stop()
    const { db } = service.runtime
    const delivered = await db
      .select({ requestId: sandboxMessages.requestId })
      .from(sandboxMessages)
      .where(eq(sandboxMessages.channelId, account.channelId))
    expect(delivered.map((message) => message.requestId).toSorted()).toEqual([requestId, next].toSorted())
  })

  test("is one too after the channel's template was changed", async () => {
    await freshAccount()
    await setGreeting('Dear {{name}}')
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, account, key, templateBody()))
    await setGreeting('Hello {{name}}!')
    expectReplay(await postKeyed(service, account, key, templateBody()), requestId)
    const [send] = await sendsOf(service, account)
    expect(send?.message).toMatchObject({ template: { definition: { text: 'Dear {{name}}' } } })
  })

  test('is one line in the log under the first requestId; no line holds the key', async () => {
    await freshAccount()
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, account, key, sameBody('a secret')))
    const from = service.logs.length
    expectReplay(await postKeyed(service, account, key, sameBody('a secret')), requestId)
    expect(service.logs.slice(from)).toMatchObject([{ event: 'idempotent_replay', requestId }])
    expect(JSON.stringify(service.logs)).not.toContain(key)
  })
})

describe('a key', () => {
  test("is an account's own: another account's same key is another send", async () => {
    const one = await freshAccount()
    const other = await freshAccount()
    const key = newKey()
    const ofOne = expectAccepted(await postKeyed(service, one, key, sameBody()))
    const ofOther = expectAccepted(await postKeyed(service, other, key, sameBody('something else')))
    expectReplay(await postKeyed(service, one, key, sameBody()), ofOne)
    expectReplay(await postKeyed(service, other, key, sameBody('something else')), ofOther)
  })

  test('that differs makes another send, and a request without a key is never a replay', async () => {
    await freshAccount()
    const ids = [
      expectAccepted(await postKeyed(service, account, 'order', sameBody())),
      expectAccepted(await postKeyed(service, account, 'Order', sameBody())),
      expectAccepted(await post(service, account, sameBody())),
      expectAccepted(await post(service, account, sameBody())),
    ]
    expect((await sendsOf(service, account)).map(({ requestId }) => requestId)).toEqual(ids)
  })

  test('is kept with its send: by a hash, and from the same moment', async () => {
    await freshAccount()
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, account, key, mediaBody()))
    const [send] = await sendsOf(service, account)
    const kept = await keptOf(service, account, key)
    expect(kept).toMatchObject({ requestId })
    expect(kept && send && Math.abs(kept.createdAt.getTime() - send.acceptedAt.getTime())).toBeLessThan(1000)
    expect(JSON.stringify(kept)).not.toContain(key)
  })

  test('still replays its send shortly before 24 h are over', async () => {
    await freshAccount()
    const key = newKey()
    const requestId = expectAccepted(await postKeyed(service, account, key, sameBody()))
    await ageKey(service, account, key, 24 * hour - 60)
    expectReplay(await postKeyed(service, account, key, sameBody()), requestId)
    expect((await postKeyed(service, account, key, sameBody('other'))).status).toBe(422)
  })

  test.each([
    ['the same text', sameBody(), sameBody()],
    ['another text', sameBody(), sameBody('other')],
    ['the same media', mediaBody(), mediaBody()],
    ['other media', mediaBody(), mediaBody(samples.gif)],
  ])('is forgotten after 24 h, and then makes a new send: %s', async (_what, body, later) => {
    await freshAccount()
    const key = newKey()
    const first = expectAccepted(await postKeyed(service, account, key, body))
    await ageKey(service, account, key, 24 * hour + 1)
    const second = expectAccepted(await postKeyed(service, account, key, later))
    expect(second).not.toBe(first)
    expectReplay(await postKeyed(service, account, key, later), second)
    expect((await sendsOf(service, account)).map(({ requestId }) => requestId)).toEqual([first, second])
    await ageKey(service, account, key, 24 * hour - 60)
    expectReplay(await postKeyed(service, account, key, later), second)
  })
})
