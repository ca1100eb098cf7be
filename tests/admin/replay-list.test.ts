import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { sends } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { noneSkipped } from '../../src/core/sends/left-out.ts'
import { noSuppressionKey } from '../../src/core/suppression/suppression.ts'
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

const replays = (fields: Record<string, string>) => postForm(`${admin.url}/sends/replay`, fields)

/** The fields of a form of the page, as the browser sends them. */
function formIn({ html }: Page, button: string): Record<string, string> {
  const form = html.split('<form').find((part) => part.includes(`>${button}</button>`)) ?? ''
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  return Object.fromEntries(inputs.map(([, name = '', value = '']) => [name, value]))
}

const lines = () => service.logs.filter(({ event }) => event === 'set_replayed')

test('a list of failed or uncertain sends of a channel offers its replay; another says what that needs, or nothing', async () => {
  const { channelId } = await buildList()
  const search = (query: string) => getPage(`${admin.url}/sends?${query}`)
  expect((await search(`channelId=${channelId}&status=failed`)).text).toContain('Replay this list…')
  expect((await search('status=failed')).text).toContain(
    'To replay a list, choose the state failed or uncertain',
  )
  const ofAny = await search(`channelId=${channelId}`)
  expect(ofAny.text).toContain('Replay what failed…')
  expect(ofAny.text).not.toContain('Replay this list…')
  for (const query of [`channelId=${channelId}&status=sent`, `channelId=${channelId}&status=uncertain`])
    expect((await search(query)).html).not.toContain('/sends/replay"')
})

test('a list gets a trial first, with what would be left out and why, and only the second form replays it', async () => {
  const { channelId, ids } = await buildList()
  const search = await getPage(`${admin.url}/sends?channelId=${channelId}&status=failed`)
  const trial = await replays(formIn(search, 'Replay this list…'))
  expect(trial.status).toBe(200)
  for (const words of ['Send 2 messages again?', '1 expired', '1 refused for good', 'Replay 2'])
    expect(trial.text).toContain(words)
  expect(trial.text).not.toContain('may get them twice')
  expectOnlyOurMarkup(trial.html)
  expect(await statusesOf(ids)).toEqual(Array(4).fill('failed'))
  expect(lines()).toEqual([])

  const done = await replays(formIn(trial, 'Replay 2'))
  expect(done.text).toContain('Queued again: 2 messages')
  expect(done.text).toContain('1 refused for good')
  expectOnlyOurMarkup(done.html)
  expect(await statusesOf(ids)).toEqual(['queued', 'queued', 'failed', 'failed'])
  expect(lines()).toMatchObject([
    {
      by: 'admin',
      channelId,
      status: 'failed',
      replayed: 2,
      skipped: { ...noneSkipped, expired: 1, refused: 1 },
    },
  ])
})

test('a list counts and replays only what would be sent: suppressed contacts are left out, whatever is included', async () => {
  const { channelId, contact, ids } = await buildList()
  const { db } = service.runtime
  const suppressed = { contact: { type: 'phone', value: contact }, channelId: null } as const
  await addSuppression(db, { accountId: account.accountId, ...suppressed }, null, noSuppressionKey)
  const trial = await replays({ channelId, status: 'failed', includeExpired: 'yes', includeRefused: 'yes' })
  for (const words of ['Send 3 messages again?', '1 to suppressed contacts', 'Replay 3'])
    expect(trial.text).toContain(words)
  const done = await replays(formIn(trial, 'Replay 3'))
  expect(done.text).toContain('1 to suppressed contacts')
  expect(await statusesOf(ids)).toEqual(['queued', 'failed', 'queued', 'queued'])
  const none = await replays({ channelId, status: 'failed', contact: newContact() })
  expect(none.text).toContain('No send has this state and matches')
})

test('sends that are left out can be included, and a list can be narrowed by the reason', async () => {
  const { channelId, ids } = await buildList()
  const list = { channelId, status: 'failed' }
  const trial = await replays({ ...list, reason: 'GATEWAY', includeExpired: 'yes' })
  expect(trial.text).toContain('Send 1 message again?')
  expect(trial.html).toContain('value="GATEWAY"')
  expect(trial.text).toContain('with “GATEWAY” in the reason, also those that expired: they are queued again')
  await replays(formIn(trial, 'Replay 1'))
  expect(await statusesOf(ids)).toEqual(['failed', 'queued', 'failed', 'failed'])
  const all = await replays({ ...list, includeExpired: 'yes', includeRefused: 'yes' })
  expect(all.text).toContain('Send 3 messages again?')
  expect(all.text).not.toContain('Left out')
  expect(all.text).toContain(
    'also those that expired, also those that were refused for good: they are queued again',
  )
  await replays(formIn(all, 'Replay 3'))
  expect(await statusesOf(ids)).toEqual(Array(4).fill('queued'))
})

test('a list by contact holds that contact’s sends, and no link, log line or page shows the contact', async () => {
  const { channelId, contact, ids } = await buildList()
  const search = await postForm(`${admin.url}/sends`, {
    channelId,
    status: 'failed',
    contact,
  })
  const trial = await replays(formIn(search, 'Replay this list…'))
  expect(trial.text).toContain('Send 1 message again?')
  const done = await replays(formIn(trial, 'Replay 1'))
  expect(await statusesOf(ids)).toEqual(['failed', 'queued', 'failed', 'failed'])
  for (const page of [trial, done]) {
    expect(page.text).not.toContain(contact)
    expect(page.html).not.toMatch(new RegExp(`(href|action)="[^"]*${contact.slice(1)}`))
  }
  expect(JSON.stringify(service.logs)).not.toContain(contact)
})

test('what has failed since the trial, or failed again, is not replayed by its form, however often it is sent', async () => {
  const { channelId, ids } = await buildList()
  const { db } = service.runtime
  const trial = await replays({ channelId, status: 'failed' })
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
  expect((await replays(form)).text).toContain('Queued again: 1 message')
  await fail(second)
  expect((await replays(form)).text).toContain('Nothing was replayed')
  expect(await statusesOf(ids)).toEqual(Array(4).fill('failed'))
})

test('a longer list is replayed part by part, with its progress, and never what failed since', async () => {
  const channelId = await buildChannel(service, account.accountId)
  const { $client } = service.runtime.db
  await $client.query(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                        close_conversation, status, attempt, failure, finished_at)
     select uuidv7(), $1, $2, 'phone', '+49151' || n, 'text', '{"type":"text","text":{"value":"a"}}', false, 'failed', 1,
            case when n % 5000 = 0 then 'expired' else 'away' end, now() - interval '1 min'
     from generate_series(1, 10005) n`,
    [account.accountId, channelId],
  )
  const failed = async () => {
    const { rows } = await $client.query(`select from sends where channel_id = $1 and status = 'failed'`, [
      channelId,
    ])
    return rows.length
  }
  const trial = await replays({ channelId, status: 'failed' })
  expect(trial.text).toContain('Send 10,003 messages again?')
  const first = await replays(formIn(trial, 'Replay 10,003'))
  expect(first.text).toContain('Queued again: 10,000 messages')
  expect(first.text).toContain('10,000 of 10,003 done')
  expect(await failed()).toBe(5)
  const last = await replays(formIn(first, 'Go on with the next ones'))
  expect(last.text).toContain('Queued again: 10,003 messages')
  expect(last.text).toContain('2 expired')
  expect(last.text).not.toContain('done')
  expect(await failed()).toBe(2)
})

test('a list by the status of answers without a code replays what it shows', async () => {
  const own = await buildAccount(service)
  const end = {
    status: 'failed',
    finishedAt: new Date(Date.now() - 1000),
    attempt: 1,
    failure: 'away',
  } as const
  const rows = [
    buildSendRow(own, { ...end, attemptRecord: { ...away, providerStatus: 502 } }),
    buildSendRow(own, { ...end, attemptRecord: { ...away, providerStatus: 502, providerCode: 'busy' } }),
  ]
  await service.runtime.db.insert(sends).values(rows)
  const list = { accountId: own.accountId, status: 'failed', providerCode: '502' }
  const page = await getPage(`${admin.url}/sends?${new URLSearchParams(list)}`)
  expect(page.text).toContain('1 send')
  const done = await replays(formIn(await replays(formIn(page, 'Replay this list…')), 'Replay 1'))
  expect(done.text).toContain('Queued again: 1 message')
  expect(await statusesOf(rows.map(({ requestId }) => requestId))).toEqual(['queued', 'failed'])
})

test('the list of an account is replayed channel by channel, narrowed by code, flow and reference', async () => {
  const own = await buildAccount(service)
  const other = await buildChannel(service, own.accountId)
  const end = {
    status: 'failed',
    finishedAt: new Date(Date.now() - 1000),
    attempt: 1,
    failure: 'away',
  } as const
  const coded = { attemptRecord: { ...away, providerCode: '131016' } }
  const rows = [
    buildSendRow(own, { ...end, ...coded, reference: 'r', flowId: own.flowId }),
    buildSendRow({ ...own, channelId: other }, { ...end, ...coded, reference: 'r', flowId: own.flowId }),
    buildSendRow(own, { ...end, ...coded, reference: 'r' }),
    buildSendRow(own, { ...end, ...coded, flowId: own.flowId }),
    buildSendRow(own, { ...end, attemptRecord: away, reference: 'r', flowId: own.flowId }),
  ]
  await service.runtime.db.insert(sends).values(rows)
  const list = {
    accountId: own.accountId,
    status: 'failed',
    providerCode: '131016',
    reference: 'r',
    flowId: own.flowId ?? '',
  }
  const page = await getPage(`${admin.url}/sends?${new URLSearchParams(list)}`)
  const trial = await replays(formIn(page, 'Replay this list…'))
  const done = await replays(formIn(trial, 'Replay 2'))
  expect(done.text).toContain('Queued again: 2 messages')
  expect(await statusesOf(rows.map(({ requestId }) => requestId))).toEqual([
    'queued',
    'queued',
    'failed',
    'failed',
    'failed',
  ])
})

test('a list of uncertain ones warns that contacts may get them twice', async () => {
  const { channelId } = await buildList('uncertain')
  expect((await replays({ channelId, status: 'uncertain' })).text).toContain('may get them twice')
})

test('a list that cannot be replayed is refused with an explanation, and nothing happens', async () => {
  const { channelId, ids } = await buildList()
  const two = [await buildChannel(service, account.accountId), await buildChannel(service, account.accountId)]
  for (const id of two) await updateChannel(service.runtime.db, id, { name: 'Twins' })
  const list = {
    channelId,
    status: 'failed',
    confirmed: 'yes',
    endedBy: new Date().toISOString(),
  }
  for (const [fields, status, words] of [
    [{ ...list, channelId: '' }, 400, 'To replay a list, choose the state'],
    [{ ...list, status: 'sent' }, 400, 'To replay a list, choose the state'],
    [{ ...list, status: '' }, 400, 'To replay a list, choose the state'],
    [{ ...list, messageId: 'wamid.1234' }, 400, 'To replay a list, choose the state'],
    [{ ...list, channelId: 'nobody' }, 400, 'no channel has this id or name'],
    [{ ...list, channelId: 'Twins' }, 400, 'several channels have this name'],
    [{ ...list, acceptedFrom: 'yesterday' }, 400, 'Accepted from'],
    [{ ...list, endedBy: 'x' }, 400, 'Open the list again'],
    [{ ...list, from: 'x' }, 400, 'Open the list again'],
    [{ ...list, replayed: '-1' }, 400, 'Open the list again'],
    [{ ...list, flowId: 'x' }, 400, 'no flow has this id or name'],
    [{ ...list, delivery: 'read' }, 400, 'To replay a list, choose the state'],
    [{ ...list, reason: 'x'.repeat(501) }, 400, 'Reason'],
  ] as const) {
    const page = await replays(fields)
    expect([page.status, page.text]).toEqual([status, expect.stringContaining(words)])
  }
  const foreign = await fetch(`${admin.url}/sends/replay`, {
    method: 'POST',
    headers: { Origin: 'https://evil.example' },
    body: new URLSearchParams(list),
  })
  expect(foreign.status).toBe(403)
  expect(await statusesOf(ids)).toEqual(Array(4).fill('failed'))
  expect((await getPage(`${admin.url}/sends/replay`)).status).toBe(302)
})

test('a list of a channel has the sends that were posted to it, by whatever channel they ended', async () => {
  const { channelId, ids } = await buildList()
  const fallback = await buildChannel(service, account.accountId)
  await service.runtime.db.$client.query(
    'update sends set channel_id = $1, former_channels = array[channel_id] where request_id = $2',
    [fallback, ids[0]],
  )
  const trial = await replays({ channelId, status: 'failed' })
  expect(trial.text).toContain('Send 2 messages again?')
  expect((await replays({ channelId: fallback, status: 'failed' })).text).not.toContain('again?')
  await replays(formIn(trial, 'Replay 2'))
  expect(await statusesOf(ids)).toEqual(['queued', 'queued', 'failed', 'failed'])
})
