import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import { sends } from '../../db/schema.ts'
import { listSuppressions } from '../../db/suppression/entries.ts'
import { causes } from '../../src/core/suppression/suppression.ts'
import { namesOf, received, timelineOf } from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildKey,
  request,
  textBody,
} from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { buildEndpoint, callbacksOf } from '../support/endpoints.ts'
import { expectError } from '../support/expect-error.ts'
import { openMailReceivers } from '../support/mail-receivers.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'

const publicBaseUrl = 'https://messages.example.com'
const service = await serviceOfFile({
  PUBLIC_BASE_URL: publicBaseUrl,
  ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
})
const { db } = service.runtime
const { mailServer } = await openMailReceivers()
const account = await buildAccount(service)
await updateChannel(db, account.channelId, { oneClick: true })
const manager = await buildKey(service, account.accountId, { permissions: ['suppressions:manage'] })
const endpoint = await buildEndpoint(service, account.accountId, 'https://127.0.0.1/in', [
  'message.unsubscribed',
])
await service.startWorker()

const anyone = () => `${uuidv7()}@example.com`

/** Sends a mail, and returns the headers that its contact got. */
async function mailTo(contact: string, email?: object, by: Account = account) {
  const requestId = await accept(service, by, { ...textBody('Hello', contact), ...(email && { email }) })
  await finishedTimeline(service, requestId, by.apiKey)
  const [mail] = await received(service, requestId)
  const headers: Record<string, string> = mail?.message.email?.headers ?? {}
  return { requestId, headers }
}

const linkIn = (headers: Record<string, string>): string =>
  /<(https:[^>]*)>/.exec(headers['List-Unsubscribe'] ?? '')?.[1]?.slice(publicBaseUrl.length) ?? ''

/** As a mail program does (RFC 8058). */
const posted = {
  method: 'POST',
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  body: 'List-Unsubscribe=One-Click',
}
const oneClick = (path: string) => fetch(`${service.url}${path}`, posted)

const entries = async (contact: string) =>
  (await listSuppressions(db, account.accountId, { limit: 1000 })).filter(
    ({ contactValue }) => contactValue === contact,
  )

const told = async (requestId: string) =>
  (await callbacksOf(service, endpoint)).filter((callback) => callback.requestId === requestId)

test('a post to the address in a mail suppresses its contact on its channel, and is told once, however often it comes', async () => {
  const contact = anyone()
  const { requestId, headers } = await mailTo(contact)
  expect(headers['List-Unsubscribe-Post']).toBe('List-Unsubscribe=One-Click')
  const path = linkIn(headers)
  expect(path).toMatch(/^\/unsubscribe\/[\w-]+$/)
  const answers = await Promise.all([oneClick(path), oneClick(path), oneClick(path)])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect((await oneClick(path)).status).toBe(200)
  expect(await entries(contact)).toMatchObject([
    { channelId: account.channelId, cause: 'opt_out', requestId },
  ])
  expect(await told(requestId)).toMatchObject([
    { type: 'message.unsubscribed', sequence: 2, status: 'sent', delivery: null },
  ])
  expect(namesOf(await timelineOf(service, requestId)).at(-1)).toBe('unsubscribed')
  const next = await accept(service, account, textBody('Again', contact))
  expect((await finishedTimeline(service, next, account.apiKey)).reason).toBe(causes.opt_out.storedReason)
})

test.each<[string, (contact: string) => string]>([
  ['has capitals', (contact) => contact],
  ['is suppressed in another spelling', (contact) => contact.toLowerCase()],
])('a contact that %s is suppressed once, in all spellings', async (_what, spelled) => {
  const contact = `Ann.${anyone()}`
  const { requestId, headers } = await mailTo(contact)
  if (spelled(contact) !== contact) {
    const entry = { contact: { value: spelled(contact), type: 'email' }, channelId: account.channelId }
    const added = await request(service, '/v1/suppressions', {
      method: 'POST',
      headers: { Authorization: `Bearer ${manager.apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(entry),
    })
    expect(added.status).toBe(201)
  }
  expect((await oneClick(linkIn(headers))).status).toBe(200)
  const found = (await listSuppressions(db, account.accountId, { limit: 1000 })).filter(
    ({ contactValue }) => contactValue?.toLowerCase() === contact.toLowerCase(),
  )
  expect(found).toHaveLength(1)
  expect(await told(requestId)).toHaveLength(spelled(contact) === contact ? 1 : 0)
  const next = await accept(service, account, textBody('Again', contact.toUpperCase()))
  expect((await finishedTimeline(service, next, account.apiKey)).status).toBe('failed')
})

test('the address holds after its channel was deleted', async () => {
  const channelId = await buildChannel(service, account.accountId)
  await updateChannel(db, channelId, { oneClick: true })
  const contact = anyone()
  const { headers } = await mailTo(contact, undefined, { ...account, channelId })
  await deleteChannel(db, channelId)
  expect((await oneClick(linkIn(headers))).status).toBe(200)
  expect(await entries(contact)).toMatchObject([{ cause: 'opt_out', channelId }])
})

test('to look at the address changes nothing, as scanners of mail do, and shows a page with one button', async () => {
  const contact = anyone()
  const path = linkIn((await mailTo(contact)).headers)
  expect((await fetch(`${service.url}${path}`, { method: 'HEAD' })).status).toBe(200)
  const page = await (await fetch(`${service.url}${path}`)).text()
  expect(page.match(/<button/g)).toHaveLength(1)
  expect(page).toContain('<form method="post">')
  expect(page).not.toContain(contact)
  expect(await entries(contact)).toEqual([])
})

test('an altered address is a 404, whichever character was changed', async () => {
  const path = linkIn((await mailTo(anyone())).headers)
  const start = '/unsubscribe/'.length
  for (let at = start; at < path.length; at++) {
    const other = path[at] === 'A' ? 'B' : 'A'
    const altered = `${path.slice(0, at)}${other}${path.slice(at + 1)}`
    expectError(await request(service, altered, posted), 404)
  }
  expectError(await request(service, `${path}A`), 404)
  expectError(await request(service, path.slice(0, -1)), 404)
})

test('the address holds after its send is past its retention', async () => {
  const contact = anyone()
  const { requestId, headers } = await mailTo(contact)
  await db.delete(sends).where(eq(sends.requestId, requestId))
  expect((await oneClick(linkIn(headers))).status).toBe(200)
  expect(await entries(contact)).toMatchObject([{ cause: 'opt_out', channelId: account.channelId }])
})

test("a mail keeps its client's own address to unsubscribe; an address of mail stays beside ours", async () => {
  const own = { 'List-Unsubscribe': '<https://example.com/u/1>' }
  expect((await mailTo(anyone(), { headers: own })).headers).toEqual(own)
  const { headers } = await mailTo(anyone(), {
    headers: { 'X-A': 'b', 'list-unsubscribe': '<mailto:u@example.com>' },
  })
  expect(headers).toMatchObject({ 'X-A': 'b', 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' })
  expect(headers['List-Unsubscribe']).toMatch(/^<https:\/\/[^>]+>, <mailto:u@example\.com>$/)
  expect(headers).not.toHaveProperty('list-unsubscribe')
})

test('a mail server gets both headers, and the same address at each attempt; a phone gets no address', async () => {
  const config = { ...mailServer.config, headers: { 'List-Unsubscribe': '<mailto:all@example.com>' } }
  const channelId = await buildProviderChannel(service, account.accountId, 'smtp', config)
  await updateChannel(db, channelId, { oneClick: true })
  const by = { ...account, channelId }
  const contact = anyone()
  mailServer.answerNext({ at: 'end', reply: '451 4.3.0 later' })
  const requestId = await accept(service, by, textBody('Hello', contact))
  await finishedTimeline(service, requestId, account.apiKey)
  const calls = () => mailServer.calls.filter(({ to }) => to.includes(contact))
  const addresses = calls().map(({ mail }) => mail?.headers['list-unsubscribe'])
  expect(addresses).toEqual([expect.stringMatching(/^<https:\/\/[^>]+\/unsubscribe\/[\w-]+>$/), addresses[0]])
  for (const { mail } of calls())
    expect(mail?.headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click')
  const phone = await accept(service, account, textBody())
  await finishedTimeline(service, phone, account.apiKey)
  expect((await received(service, phone))[0]?.message).not.toHaveProperty('email')
})

test('channel update --one-click turns it on and off; a channel that sends no mail refuses it', async () => {
  const update = (word: string) =>
    runCli(service, 'channel', 'update', account.channelId, '--one-click', word)
  const listed = async () => {
    const { stdout } = await runCli(service, 'channel', 'list', '--account', account.accountId)
    return JSON.parse(stdout).channels.find(
      ({ channelId }: { channelId: string }) => channelId === account.channelId,
    ).oneClick
  }
  for (const [word, isOn] of [
    ['off', false],
    ['on', true],
  ] as const) {
    expect((await update(word)).status).toBe(0)
    expect(await listed()).toBe(isOn)
  }
  const config = { accountSid: `AC${'0'.repeat(32)}`, authToken: '0'.repeat(32), from: '+15005550006' }
  const twilio = await buildProviderChannel(service, account.accountId, 'twilio', config)
  const refused = await runCli(service, 'channel', 'update', twilio, '--one-click', 'on')
  expect(refused).toMatchObject({
    status: 64,
    stderr: '--one-click: twilio sends no mail; use it with a channel that does\n',
  })
})
