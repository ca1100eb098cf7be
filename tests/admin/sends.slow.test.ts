import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { holdChannel, updateChannel } from '../../db/accounts/channels.ts'
import { sends } from '../../db/schema.ts'
import { listSends } from '../../db/sends/list.ts'
import { csvOf } from '../../src/admin/sends/csv.ts'
import type { ListCursor } from '../../src/core/requests/list-query.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { buildSendRow } from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { getPage, postForm } from '../support/pages.ts'
import { finishedTimeline, soonReconciled, startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let showing: TestAdmin
let account: Account
let heldChannelId: string

const rejected = '+15550100103'
const uncertain = '+15550100105'

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  showing = await startTestAdmin(service, { SUPPORT_SHOW_CONTENT: 'true' })
  account = await buildAccount(service)
  heldChannelId = await buildChannel(service, account.accountId)
  await holdChannel(service.runtime.db, heldChannelId, 'resumed soon')
  await service.startWorker('test-worker', { times: soonReconciled })
})
afterAll(async () => {
  await admin.stop()
  await showing.stop()
  await service.stop()
})

async function finished(body: object, by = account): Promise<string> {
  const requestId = await accept(service, by, body)
  await finishedTimeline(service, requestId, by.apiKey)
  return requestId
}
const waiting = (contact = newContact(), more: object = {}) =>
  accept(service, { ...account, channelId: heldChannelId }, { ...textBody('Hello', contact), ...more })
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

const list = (fields: Record<string, string>) => getPage(`${admin.url}/sends?${new URLSearchParams(fields)}`)
const post = (fields: Record<string, string>) => postForm(`${admin.url}/sends`, fields)
const idsIn = (html: string) =>
  [...html.matchAll(/<a href="\/support\/([0-9a-f-]{36})">/g)].map(([, id]) => id)
const ids = async (fields: Record<string, string>) => idsIn((await list(fields)).html)

describe('a list', () => {
  test('by contact has what was sent to it on every channel, however the number is written, and masks it', async () => {
    const contact = newContact()
    const first = await finished(textBody('Hello', contact))
    const second = await waiting(contact)
    await waiting()
    const written = `00${contact.slice(1, 3)} (${contact.slice(3, 6)}) ${contact.slice(6)}`
    const page = await post({ contact: written })
    expect(page.status).toBe(200)
    expect(idsIn(page.html)).toEqual([second, first])
    expect(page.html).not.toContain(contact)
    expect(idsIn((await post({ contact, status: 'sent' })).html)).toEqual([first])
    expect(idsIn((await post({ contact, channelId: heldChannelId })).html)).toEqual([second])
    expect(await ids({ contact })).toEqual([second, first])
    expect((await getPage(`${showing.url}/sends?${new URLSearchParams({ contact })}`)).text).toContain(
      contact,
    )
  })

  test('a contact is in no URL, no link and no log line', async () => {
    const contact = newContact()
    await waiting(contact)
    const { html } = await post({ contact })
    expect(html).not.toMatch(new RegExp(`(href|action)="[^"]*${contact.slice(1)}`))
    const redirected = await post({ contact: '', status: 'queued' })
    expect(redirected.headers.get('location')).toBe('/sends?status=queued')
    expect(JSON.stringify(service.logs)).not.toContain(contact.slice(1))
  })

  test.each(['sent', 'failed', 'uncertain', 'queued'])(
    'by the state %s has those alone, the newest first',
    async (status) => {
      const contacts = { failed: rejected, uncertain, sent: newContact(), queued: newContact() }
      const make = () =>
        status === 'queued' ? waiting() : finished(textBody('Hello', contacts[status as 'sent']))
      const made = [await make(), await make()]
      for (const of of [
        {},
        { accountId: account.accountId },
        { accountId: account.accountId, channelId: status === 'queued' ? heldChannelId : account.channelId },
      ]) {
        const { html } = await list({ status, ...of })
        expect(idsIn(html).slice(0, 2)).toEqual(made.toReversed())
        const states = [...html.matchAll(/<td data-label="State"><span class="state (\w+)"/g)].map(
          ([, each]) => each,
        )
        expect(new Set(states)).toEqual(new Set([status]))
      }
      expect(
        await ids({ status, channelId: status === 'queued' ? account.channelId : heldChannelId }),
      ).toEqual([])
    },
  )

  test('by reason and by code has those alone, and shows both in one cell', async () => {
    const requestId = await finished(textBody('Hello', rejected))
    await finished(textBody())
    const own = { accountId: account.accountId }
    expect((await ids({ ...own, reason: 'REFUSES this' }))[0]).toBe(requestId)
    expect((await ids({ ...own, providerCode: 'rejected' }))[0]).toBe(requestId)
    expect(await ids({ ...own, providerCode: 'rejecte' })).toEqual([])
    expect((await list({ ...own, reason: 'REFUSES this' })).html).toMatch(
      /<td data-label="Reason">rejected: /,
    )
  })

  test('by channel or account takes an id or a name; a name that several have is asked for by its id', async () => {
    const { db } = service.runtime
    await updateChannel(db, heldChannelId, { name: 'Held one' })
    const requestId = await waiting()
    for (const channelId of [heldChannelId, 'Held one']) expect((await ids({ channelId }))[0]).toBe(requestId)
    const two = [await createAccount(db, 'Twin'), await createAccount(db, 'Twin')]
    const page = await list({ accountId: 'Twin' })
    expect(page.text).toContain('Which account?')
    for (const id of two) expect(page.text).toContain(id)
    expect((await list({ channelId: 'No such one' })).status).toBe(404)
    expect((await list({ channelId: 'No such\0one' })).status).toBe(400)
  })

  test('says when a scheduled send is sent, and finds such ones apart', async () => {
    const sendAt = inAnHour()
    const reference = `later ${newContact()}`
    const requestId = await accept(service, account, { ...textBody(), sendAt, reference })
    const page = await list({ reference, status: 'scheduled' })
    expect(idsIn(page.html)).toEqual([requestId])
    expect(page.text).toContain(`queued for ${sendAt.slice(0, 10)} ${sendAt.slice(11, 19)}`)
    expect(await ids({ reference, status: 'queued' })).toEqual([])
    expect(await ids({ reference })).toEqual([requestId])
  })

  test('by time has what was accepted within it, with an offset or in UTC', async () => {
    const requestId = await waiting()
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const [before, after] = [at(-600_000), at(600_000)]
    for (const form of [(text: string) => text, (text: string) => text.slice(0, 16)]) {
      expect(await ids({ acceptedFrom: form(before), acceptedTo: form(after) })).toContain(requestId)
      expect(await ids({ acceptedFrom: form(before), accountId: account.accountId })).toContain(requestId)
      expect(await ids({ acceptedFrom: form(after) })).toEqual([])
      expect(await ids({ acceptedTo: form(before), accountId: account.accountId })).toEqual([])
    }
  })

  test.each([
    ['acceptedFrom', 'yesterday', 'Accepted from: enter a date and time'],
    ['acceptedTo', '2026-99-01T00:00', 'Accepted before: enter a date and time'],
    ['status', 'lost', 'State: choose one from the list.'],
    ['delivery', 'lost', 'Delivery: choose one from the list.'],
    ['messageId', 'two words', 'Provider message id: enter 4 to 512 characters without spaces.'],
    ['contact', '12', 'Contact: enter a phone number or an e-mail address.'],
    ['after', 'x', 'This page no longer exists.'],
  ])('says what is wrong with %s %s, and keeps what was typed', async (field, value, words) => {
    const page = await list({ [field]: value })
    expect(page.status).toBe(400)
    expect(page.text).toContain(words)
    expect(page.html).toContain(`<details class="filter" open`)
  })

  test('that no index serves reads a limited number of sends at a time, and can be continued', async () => {
    const { db } = service.runtime
    const rare = await finished(textBody('Hello', uncertain))
    const { reason } = await finishedTimeline(service, rare, account.apiKey)
    for (let n = 0; n < 12; n++) await waiting()
    const found: string[] = []
    let after: ListCursor | undefined
    let pages = 0
    for (; pages < 5 && found.length === 0; pages++) {
      const page = await listSends(db, undefined, { limit: 50, after, reason: String(reason) }, 5)
      found.push(...page.sends.map(({ requestId }) => requestId))
      after = page.next
      expect(page.lookedBackTo).toBeInstanceOf(Date)
    }
    expect([found, pages]).toEqual([[rare], 3])
  })

  test('is paged, and shows each send once; a private one by forms', async () => {
    const contact = newContact()
    const own = await buildAccount(service)
    await holdChannel(service.runtime.db, own.channelId, 'for pages')
    const made: string[] = []
    for (let n = 0; n < 60; n++) made.push(await accept(service, own, textBody('Hello', contact)))
    made.reverse()
    for (const fields of [
      { accountId: own.accountId },
      { channelId: own.channelId, status: 'queued' },
    ] as Record<string, string>[]) {
      const first = await list(fields)
      const [, next = ''] = /<a class="button" href="([^"]+)">Older/.exec(first.html) ?? []
      const second = await getPage(admin.url + next.replaceAll('&amp;', '&'))
      expect([...idsIn(first.html), ...idsIn(second.html)]).toEqual(made)
      expect(second.html).not.toContain('Older')
    }
    const first = await post({ contact })
    const form = first.html.split('<form').find((part) => part.includes('>Older</button>')) ?? ''
    const hidden = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)]
    const second = await post(Object.fromEntries(hidden.map(([, name, value]) => [name, value])))
    expect([...idsIn(first.html), ...idsIn(second.html)]).toEqual(made)
  })

  test('an address of the former search leads to its list', async () => {
    const { status, headers } = await getPage(
      `${admin.url}/support/search?channel=Held+one&state=failed&from=2026-11-21T14%3A00&to=2026-11-22T14%3A00&before=${account.accountId}`,
    )
    expect([status, headers.get('location')]).toEqual([
      301,
      '/sends?channelId=Held+one&status=failed&acceptedFrom=2026-11-21T14%3A00&acceptedTo=2026-11-22T14%3A00',
    ])
  })
})

describe('a list as CSV', () => {
  const csv = async (fields: Record<string, string>, at = admin.url) => {
    const response = await fetch(`${at}/sends.csv?${new URLSearchParams(fields)}`)
    return { response, text: await response.text() }
  }
  /** The records by RFC 4180. */
  function recordsOf(text: string): string[][] {
    const records: string[][] = [[]]
    for (const [, quoted, bare = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
      records.at(-1)?.push(quoted?.replaceAll('""', '"') ?? bare)
      if (end !== ',') records.push([])
    }
    return records.slice(0, -1)
  }

  test('has a header and a record each, with the contact masked unless content is shown', async () => {
    const contact = newContact()
    const requestId = await finished({ ...textBody('Hello', contact), reference: 'a "b", c' })
    const { response, text } = await csv({ contact })
    expect(response.headers.get('content-type')).toContain('text/csv')
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename="sends-\d{4}-\d\d-\d\d\.csv"$/,
    )
    const [header = [], record = [], ...more] = recordsOf(text)
    expect(more).toEqual([])
    const row = Object.fromEntries(header.map((name, column) => [name, record[column]]))
    expect(row).toMatchObject({
      requestId,
      status: 'sent',
      accountId: account.accountId,
      account: 'Test',
      reference: 'a "b", c',
    })
    expect(row.contact).toMatch(/^'\+49\*+\d\d$/)
    expect(text).not.toContain(contact)
    expect((await csv({ contact }, showing.url)).text).toContain(`,"'${contact}",`)
    const { text: marked } = await csv({ contact, bom: 'true' }, showing.url)
    const bytes = await (
      await fetch(`${showing.url}/sends.csv?${new URLSearchParams({ contact, bom: 'true' })}`)
    ).arrayBuffer()
    expect(Buffer.from(bytes).toString()).toBe(`\ufeff${marked}`)
    expect((await postForm(`${admin.url}/sends.csv`, { contact })).html).toBe(text)
  })

  test.each(['=1+1', '+1', '-1', '@SUM(1)', '\t=1', '\r=1', "=cmd|' /C calc'!A0", '＝1'])(
    'runs nothing in a spreadsheet: %j',
    async (hostile) => {
      const own = await buildAccount(service)
      await updateChannel(service.runtime.db, own.channelId, { name: hostile })
      await service.runtime.db.insert(sends).values([
        buildSendRow(own, {
          reference: hostile,
          status: 'failed',
          failure: hostile,
          finishedAt: new Date(),
          attempt: 1,
        }),
      ])
      const { text } = await csv({ accountId: own.accountId })
      const fields = recordsOf(text).flat()
      expect(fields.filter((field) => /^[=+\-@\t\r＝]/.test(field))).toEqual([])
      expect(fields.filter((field) => field === `'${hostile.replace(/(?<=[\t\r])=/, "'=")}`)).toHaveLength(3)
    },
  )

  test('of more rows than it has at most says in its last record that it is cut, and has so many', async () => {
    const own = await buildAccount(service)
    await holdChannel(service.runtime.db, own.channelId, 'for rows')
    for (let n = 0; n < 5; n++) await accept(service, own, textBody())
    const rowsOf = async (most: number) => {
      const texts: string[] = []
      const asked = { accountId: own.accountId, query: {}, contacts: 'masked' } as const
      for await (const text of csvOf(service.runtime.db, asked, most)) texts.push(text)
      return texts.join('').split('\r\n').slice(1, -1)
    }
    expect(await rowsOf(5)).toHaveLength(5)
    const cut = await rowsOf(4)
    expect(cut).toHaveLength(5)
    expect(cut.at(-1)).toMatch(/^"?cut after 4 rows: ask for less, such as a shorter time"?,+$/)
  })

  test('of filters that can’t be used is refused', async () => {
    expect((await csv({ status: 'lost' })).response.status).toBe(400)
    expect((await csv({ channelId: 'nobody' })).response.status).toBe(404)
  })
})

describe('the cancel of a list', () => {
  const cancels = (fields: Record<string, string>) => postForm(`${admin.url}/sends/cancel`, fields)
  const formIn = (html: string, button: RegExp) => {
    const form = html.split('<form').find((part) => button.test(part)) ?? ''
    const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
    return Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]))
  }
  const statusOf = async (requestId: string) =>
    (await finishedTimeline(service, requestId, account.apiKey)).status

  test('shows how many it has, cancels these alone, scheduled or waiting, and says what was left out', async () => {
    const reference = `campaign ${newContact()}`
    const now = [await waiting(newContact(), { reference }), await waiting(newContact(), { reference })]
    const later = await waiting(newContact(), { reference, sendAt: inAnHour() })
    for (const [status, made] of [
      ['queued', now],
      ['scheduled', [later]],
    ] as const) {
      const page = await list({ reference, status })
      const preview = await cancels(formIn(page.html, /Cancel this list/))
      expect(preview.text).toContain(made.length === 1 ? 'Cancel 1 message?' : 'Cancel 2 messages?')
      const after = await waiting(newContact(), {
        reference,
        ...(status === 'scheduled' && { sendAt: inAnHour() }),
      })
      const done = await cancels(formIn(preview.html, /name="confirmed"/))
      expect(done.text).toContain(made.length === 1 ? 'Canceled: 1 message' : 'Canceled: 2 messages')
      for (const requestId of made) expect(await statusOf(requestId)).toBe('canceled')
      expect(await ids({ reference, status })).toEqual([after])
      expect(service.logsOf(made[0] ?? '').filter(({ event }) => event === 'canceled')).toMatchObject([
        { by: 'admin' },
      ])
    }
  })

  test('names those that an attempt may have got through of', async () => {
    const requestId = await waiting()
    const { db } = service.runtime
    await db.$client.query(
      `insert into send_events (request_id, event, fields) values ($1, 'attempt_finished', '{"attempt":1,"outcome":"uncertain"}')`,
      [requestId],
    )
    const contact = await db.$client.query<{ value: string }>(
      'select contact_value as value from sends where request_id = $1',
      [requestId],
    )
    const preview = await cancels({ contact: contact.rows[0]?.value ?? '', status: 'queued' })
    const done = await cancels(formIn(preview.html, /name="confirmed"/))
    expect(done.text).toContain('Nothing was canceled')
    expect(done.text).toContain('an earlier attempt may have got through')
    expect(done.html).toContain(`href="/support/${requestId}"`)
  })

  test('is refused where it would be of all, or of what has ended', async () => {
    for (const fields of [
      { status: 'queued' },
      { accountId: account.accountId },
      { accountId: account.accountId, status: 'sent' },
    ] as Record<string, string>[]) {
      const page = await cancels({ ...fields, confirmed: 'yes' })
      expect([page.status, page.text]).toEqual([400, expect.stringContaining('To cancel a list')])
    }
    expect((await list({ status: 'queued' })).html).not.toContain('Cancel this list')
  })
})
