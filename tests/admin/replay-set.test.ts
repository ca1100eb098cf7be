import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { sends } from '../../db/schema.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { buildSendRow, rowOf } from '../support/attempts.ts'
import { type Account, buildAccount, buildChannel, newContact } from '../support/builders.ts'
import { expectOnlyOurMarkup, getPage, type Page, postForm } from '../support/pages.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let account: Account

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  account = await buildAccount(service)
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const record = { attempt: 1, durationMs: 1, providerCode: null, providerMessageId: null }
const refused = { ...record, outcome: 'rejected' as const, providerStatus: 400 }
const away = { ...record, outcome: 'retry_later' as const, providerStatus: 503 }

/** Failed sends of a channel of their own: two by an outage, one expired, one refused for good. */
async function buildList(status: 'failed' | 'uncertain' = 'failed') {
  const channelId = await buildChannel(service, account.accountId)
  const end = { status, finishedAt: new Date(Date.now() - 1000), attempt: 1 }
  const contact = newContact()
  const rows = [
    { failure: 'the provider is away', attemptRecord: away },
    { failure: 'the gateway is away', attemptRecord: away, contactValue: contact },
    { failure: 'expired' },
    { failure: 'no such number', attemptRecord: refused },
  ].map((row) => buildSendRow({ ...account, channelId }, { ...end, ...row }))
  await service.runtime.db.insert(sends).values(rows)
  return { channelId, contact, ids: rows.map(({ requestId }) => requestId) }
}

const statusesOf = (ids: string[]) =>
  Promise.all(ids.map(async (requestId) => (await rowOf(service, requestId)).status))

const replays = (fields: Record<string, string>) => postForm(`${admin.url}/support/replays`, fields)

/** Sends the form of a trial, as the browser does: the result is a page of its own. */
async function confirm(form: Record<string, string>): Promise<Page> {
  const { status, headers } = await replays(form)
  expect(status).toBe(303)
  return await getPage(new URL(headers.get('Location') ?? '', admin.url).href)
}

/** What a form of the page is sent with, as the browser does it. */
function formIn({ html }: Page, button: string): Record<string, string> {
  const form = html.split('<form').find((part) => part.includes(`>${button}</button>`)) ?? ''
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  return Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, value]))
}

const lines = () => service.logs.filter(({ event }) => event === 'set_replayed')

test('a search of one channel for failed or uncertain sends offers to replay its list; other searches say what that needs, or nothing', async () => {
  const { channelId } = await buildList()
  const search = (query: string) => getPage(`${admin.url}/support/search?${query}`)
  expect((await search(`channel=${channelId}&state=failed`)).text).toContain('Replay this list…')
  expect((await search('state=failed')).text).toContain('To replay a list, search by one channel')
  for (const query of [
    `channel=${channelId}`,
    `channel=${channelId}&state=sent`,
    `channel=${channelId}&state=uncertain`,
  ])
    expect((await search(query)).html).not.toContain('/support/replays')
})

test('a list gets a trial first, with what would be left out and why, and only the second form replays it', async () => {
  const { channelId, ids } = await buildList()
  const search = await getPage(`${admin.url}/support/search?channel=${channelId}&state=failed`)
  const trial = await replays(formIn(search, 'Replay this list…'))
  expect(trial.status).toBe(200)
  for (const words of ['Send 2 messages again?', '1 expired', '1 refused for good', 'Replay 2'])
    expect(trial.text).toContain(words)
  expect(trial.text).not.toContain('may get them twice')
  expectOnlyOurMarkup(trial.html)
  expect(await statusesOf(ids)).toEqual(Array(4).fill('failed'))
  expect(lines()).toEqual([])

  const done = await confirm(formIn(trial, 'Replay 2'))
  expect(done.text).toContain('Queued again: 2 messages')
  expect(done.text).toContain('1 refused for good')
  expectOnlyOurMarkup(done.html)
  expect(await statusesOf(ids)).toEqual(['queued', 'queued', 'failed', 'failed'])
  expect(lines()).toMatchObject([
    { by: 'support page', channelId, status: 'failed', replayed: 2, skipped: { expired: 1, refused: 1 } },
  ])
})

test('sends that are left out can be included, and a list can be narrowed by the reason', async () => {
  const { channelId, ids } = await buildList()
  const list = { channel: channelId, state: 'failed' }
  const trial = await replays({ ...list, reason: 'GATEWAY', includeExpired: 'yes' })
  expect(trial.text).toContain('Send 1 message again?')
  expect(trial.html).toContain('value="GATEWAY"')
  expect(trial.text).toContain('with “GATEWAY” in the reason, also those that expired are queued again')
  await replays(formIn(trial, 'Replay 1'))
  expect(await statusesOf(ids)).toEqual(['failed', 'queued', 'failed', 'failed'])
  const all = await replays({ ...list, includeExpired: 'yes', includeRefused: 'yes' })
  expect(all.text).toContain('Send 3 messages again?')
  expect(all.text).not.toContain('Left out')
  expect(all.text).toContain(
    'also those that expired, also those that were refused for good are queued again',
  )
  await replays(formIn(all, 'Replay 3'))
  expect(await statusesOf(ids)).toEqual(Array(4).fill('queued'))
})

test('a list by contact holds that contact’s sends, and no link, log line or page shows the contact', async () => {
  const { channelId, contact, ids } = await buildList()
  const search = await postForm(`${admin.url}/support/search`, {
    channel: channelId,
    state: 'failed',
    contact,
  })
  const trial = await replays(formIn(search, 'Replay this list…'))
  expect(trial.text).toContain('Send 1 message again?')
  const done = await confirm(formIn(trial, 'Replay 1'))
  expect(await statusesOf(ids)).toEqual(['failed', 'queued', 'failed', 'failed'])
  for (const page of [trial, done]) expect(page.text).not.toContain(contact)
  expect(done.html).not.toContain(contact)
  expect(JSON.stringify(service.logs)).not.toContain(contact)
})

test('what has failed since the trial, or failed again, is not replayed by its form, however often it is sent', async () => {
  const { channelId, ids } = await buildList()
  const { db } = service.runtime
  const trial = await replays({ channel: channelId, state: 'failed' })
  const form = formIn(trial, 'Replay 2')
  const [first = '', second = ''] = ids
  const later = {
    status: 'failed',
    failure: 'again',
    attemptRecord: away,
    finishedAt: new Date(Date.now() + 5000),
  } as const
  const fail = (requestId: string) => db.update(sends).set(later).where(eq(sends.requestId, requestId))
  await fail(first)
  expect((await confirm(form)).text).toContain('Queued again: 1 message')
  await fail(second)
  expect((await confirm(form)).text).toContain('Nothing was replayed')
  expect(await statusesOf(ids)).toEqual(Array(4).fill('failed'))
})

test('the form of a list above the limit replays what it showed, and never the sends after the limit', async () => {
  const channelId = await buildChannel(service, account.accountId)
  const { db } = service.runtime
  const end = { status: 'failed', finishedAt: new Date(Date.now() - 1000), attempt: 1 } as const
  const away = {
    ...end,
    failure: 'away',
    attemptRecord: { ...record, outcome: 'retry_later' as const, providerStatus: 503 },
  }
  await db
    .insert(sends)
    .values(Array.from({ length: 1003 }, () => buildSendRow({ ...account, channelId }, away)))
  const trial = await replays({ channel: channelId, state: 'failed' })
  expect(trial.text).toContain('These are the oldest 1000.')
  const form = formIn(trial, 'Replay 1000')
  expect((await confirm(form)).text).toContain('Queued again: 1000 messages')
  expect((await confirm(form)).text).toContain('Nothing was replayed')
  const rest = await replays({ channel: channelId, state: 'failed' })
  expect((await confirm(formIn(rest, 'Replay 3'))).text).toContain('Queued again: 3 messages')
})

test('loading the result page of a replay again replays nothing, and a made-up count in its address is not shown', async () => {
  const { channelId, ids } = await buildList()
  const done = await getPage(
    `${admin.url}/support/replays/done?channel=${channelId}&replayed=2&expired=%3Cb%3E&refused=1`,
  )
  expect(done.text).toContain('Queued again: 2 messages')
  expect(done.text).toContain('1 refused for good')
  expect(done.text).not.toContain('expired:')
  expectOnlyOurMarkup(done.html)
  expect(await statusesOf(ids)).toEqual(Array(4).fill('failed'))
})

test('a list of uncertain ones warns that contacts may get them twice', async () => {
  const { channelId } = await buildList('uncertain')
  expect((await replays({ channel: channelId, state: 'uncertain' })).text).toContain('may get them twice')
})

test('a list that cannot be replayed is refused with an explanation, and nothing happens', async () => {
  const { channelId, ids } = await buildList()
  const two = [await buildChannel(service, account.accountId), await buildChannel(service, account.accountId)]
  for (const id of two) await updateChannel(service.runtime.db, id, { name: 'Twins' })
  const list = {
    channel: channelId,
    state: 'failed',
    confirmed: 'yes',
    endedBy: new Date().toISOString(),
    lastSeq: '1',
  }
  for (const [fields, status, words] of [
    [{ ...list, channel: '' }, 400, 'search by one channel'],
    [{ ...list, state: 'sent' }, 400, 'search by one channel'],
    [{ ...list, state: '' }, 400, 'search by one channel'],
    [{ ...list, messageId: 'wamid.1234' }, 400, 'search by one channel'],
    [{ ...list, channel: 'nobody' }, 404, 'no channel has this id or name'],
    [{ ...list, channel: 'Twins' }, 409, 'Several channels have this name'],
    [{ ...list, from: 'yesterday' }, 400, 'Accepted from'],
    [{ ...list, endedBy: 'x' }, 400, 'Search again'],
    [{ ...list, lastSeq: '' }, 400, 'Search again'],
    [{ ...list, reason: 'x'.repeat(501) }, 400, 'Reason'],
  ] as const) {
    const page = await replays(fields)
    expect([page.status, page.text]).toEqual([status, expect.stringContaining(words)])
  }
  const foreign = await fetch(`${admin.url}/support/replays`, {
    method: 'POST',
    headers: { Origin: 'https://evil.example' },
    body: new URLSearchParams(list),
  })
  expect(foreign.status).toBe(403)
  expect(await statusesOf(ids)).toEqual(Array(4).fill('failed'))
  expect((await getPage(`${admin.url}/support/replays`)).status).toBe(302)
})
