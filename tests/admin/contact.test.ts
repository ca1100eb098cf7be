import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { suppressionsOfContact } from '../../db/suppression/entries.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildKey,
  newContact,
  textBody,
} from '../support/builders.ts'
import { expectOnlyOurMarkup, getPage, type Page, postForm } from '../support/pages.ts'
import {
  finishedTimeline,
  soonReconciled,
  startTestService,
  type TestService,
  testSecrets,
  testSuppressionKey,
} from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let withPepper: TestAdmin
let account: Account

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  withPepper = await startTestAdmin(service, { API_KEY_PEPPER: testSecrets.API_KEY_PEPPER })
  account = await buildAccount(service)
  await service.startWorker('test-worker', { times: soonReconciled })
})
afterAll(async () => {
  await admin.stop()
  await withPepper.stop()
  await service.stop()
})

async function finished(contact: string, by = account): Promise<string> {
  const requestId = await accept(service, by, textBody('Hello', contact))
  await finishedTimeline(service, requestId, account.apiKey)
  return requestId
}

const contactPage = (fields: Record<string, string>) =>
  getPage(`${admin.url}/contact?${new URLSearchParams(fields)}`)
const idsIn = (html: string) =>
  [...html.matchAll(/<a href="\/support\/([0-9a-f-]{36})">/g)].map(([, id]) => id)
const form = (path: string, fields: Record<string, string>, at = admin.url) =>
  postForm(`${at}/contact/${path}`, fields)
const entriesOf = (value: string) =>
  suppressionsOfContact(
    service.runtime.db,
    { accountId: account.accountId, contact: { type: 'phone', value } },
    testSuppressionKey,
  )
const namesNowhere = (page: Page, contact: string) => {
  expect(page.html).not.toContain(contact)
  expect(page.html).not.toContain(encodeURIComponent(contact))
}

describe('the page of a contact', () => {
  test('has its sends on all channels, its conversations and its suppressions, by an id or by itself', async () => {
    const contact = newContact()
    const first = await finished(contact)
    const second = await finished(contact, {
      ...account,
      channelId: await buildChannel(service, account.accountId),
    })
    const other = await accept(service, await buildAccount(service), textBody('Hello', contact))
    const { conversationId } = await finishedTimeline(service, first, account.apiKey)
    for (const page of [
      await contactPage({ requestId: first }),
      await contactPage({ conversationId: String(conversationId) }),
      await contactPage({ accountId: account.accountId, contact }),
      await postForm(`${admin.url}/contact`, {
        accountId: account.accountId,
        contact: contact.replace('+', '00'),
      }),
    ]) {
      expect(page.status).toBe(200)
      expect(idsIn(page.html)).toEqual([second, first])
      expect(page.html).not.toContain(other)
      expect(page.text).toContain(String(conversationId))
      expect(page.text).toContain('Messages go to it.')
      namesNowhere(page, contact)
      expectOnlyOurMarkup(page.html)
    }
  })

  test('is linked from the page of a send, as its channel, its account and its conversation are', async () => {
    const requestId = await finished(newContact())
    const { conversationId } = await finishedTimeline(service, requestId, account.apiKey)
    const { html } = await getPage(`${admin.url}/support/${requestId}`)
    for (const link of [
      `/contact?requestId=${requestId}`,
      `/channels/${account.channelId}`,
      `/sends?accountId=${account.accountId}`,
      `/contact?conversationId=${conversationId}`,
    ])
      expect(html).toContain(`href="${link}"`)
  })

  test('of one without sends can be opened by itself; without both fields it asks for them; else it says what is wrong', async () => {
    const contact = newContact()
    const page = await contactPage({ accountId: account.accountId, contact })
    expect(page.text).toContain('No send found.')
    expect(page.html).not.toMatch(new RegExp(`(href|action)="[^"]*${contact.slice(1)}`))
    expect((await contactPage({})).text).toContain('What one contact of an account got')
    for (const [fields, status, words] of [
      [{ accountId: account.accountId, contact: 'x' }, 400, 'Contact: enter a phone number'],
      [{ accountId: 'nobody', contact }, 404, 'no account has this id or name'],
      [{ requestId: account.accountId }, 404, 'There is no such requestId'],
      [{ suppressionId: 'x' }, 404, 'There is no such suppressionId'],
    ] as const) {
      const refused = await contactPage(fields)
      expect([refused.status, refused.text]).toEqual([status, expect.stringContaining(words)])
    }
  })

  test('is paged', async () => {
    const contact = newContact()
    const made: string[] = []
    for (let n = 0; n < 27; n++) made.push(await accept(service, account, textBody('Hello', contact)))
    const first = await contactPage({ requestId: made[0] ?? '' })
    const [, next = ''] = /href="([^"]+)">Older/.exec(first.html) ?? []
    const second = await getPage(admin.url + next.replaceAll('&amp;', '&'))
    expect([...idsIn(first.html), ...idsIn(second.html)]).toEqual(made.toReversed())
  })
})

describe('a suppression on the page', () => {
  test('is added with its reason, for all channels or one, is shown, and is removed', async () => {
    const contact = newContact()
    const requestId = await finished(contact)
    const added = await form('suppress', { requestId, channelId: '', reason: 'asked by letter' })
    expect([added.status, added.headers.get('location')]).toEqual([303, `/contact?requestId=${requestId}`])
    await form('suppress', { requestId, channelId: account.channelId, reason: '' })
    expect(await entriesOf(contact)).toMatchObject([
      { channelId: null, cause: 'manual', reason: 'asked by letter' },
      { channelId: account.channelId, reason: null },
    ])
    const again = await form('suppress', { requestId, channelId: '', reason: 'asked by phone' })
    expect(again.text).toMatch(/Nothing was added: .*suppressed on all channels since .*: by hand, added by /)
    expect(again.text).toContain('Reason: asked by letter')
    const page = await contactPage({ requestId })
    for (const words of ['It is suppressed for this account.', 'asked by letter', 'all channels', 'by hand'])
      expect(page.text).toContain(words)
    const [first, second] = await entriesOf(contact)
    for (const entry of [first, second])
      expect((await form('unsuppress', { requestId, entry: entry?.suppressionId ?? '' })).status).toBe(303)
    expect(await entriesOf(contact)).toEqual([])
    const removed = await form('unsuppress', { requestId, entry: first?.suppressionId ?? '' })
    expect(removed.status).toBe(404)
    expect(removed.text).toMatch(/There is no such entry: .+ removed it at 2/)
    const lines = service.logs.filter(({ event }) => /^suppression_/.test(event))
    expect(lines).toHaveLength(4)
    expect(JSON.stringify(lines)).not.toContain(contact.slice(1))
  })

  test.each(['complaint', 'opt_out'])(
    'that is a %s is removed only with a reason, which the audit keeps',
    async (cause) => {
      const contact = newContact()
      const requestId = await finished(contact)
      await form('suppress', { requestId, channelId: '', reason: '' })
      const { $client } = service.runtime.db
      await $client.query('update suppressions set cause = $1, request_id = $2 where contact_value = $3', [
        cause,
        requestId,
        contact,
      ])
      const [{ suppressionId: entry = '' } = {}] = await entriesOf(contact)
      const page = await contactPage({ requestId })
      expect(page.text).toContain('It is removed only with a reason')
      expect(page.html).toMatch(/<input[^>]* name="reason"[^>]* required/)
      for (const [reason, words] of [
        ['', 'give a reason for removing this'],
        ['  ', 'give a reason for removing this'],
        [`${contact} called`, 'leave it out'],
        ['x'.repeat(501), '1 to 500 characters'],
        ['\u200b\u2060', 'with a letter or a digit'],
        ['-', 'with a letter or a digit'],
      ] as const) {
        const refused = await form('unsuppress', { requestId, entry, reason })
        expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(words)])
      }
      expect(await entriesOf(contact)).toHaveLength(1)
      expect((await form('unsuppress', { requestId, entry, reason: 'asked for it by phone' })).status).toBe(
        303,
      )
      expect(await entriesOf(contact)).toEqual([])
      const { rows } = await $client.query('select action, details from audit where target = $1', [entry])
      expect(rows.slice(1)).toEqual([
        {
          action: 'suppression.remove',
          details: {
            accountId: account.accountId,
            channelId: null,
            cause,
            requestId,
            reason: 'asked for it by phone',
          },
        },
      ])
      expect((await contactPage({ requestId })).text).toMatch(
        /removed a suppression \S+ asked for it by phone/,
      )
    },
  )

  test('that was added by hand or after a bounce is removed without a reason, or with one', async () => {
    const contact = newContact()
    const requestId = await finished(contact)
    await form('suppress', { requestId, channelId: '', reason: '' })
    const page = await contactPage({ requestId })
    expect(page.text).not.toContain('only with a reason')
    const [{ suppressionId: entry = '' } = {}] = await entriesOf(contact)
    expect((await form('unsuppress', { requestId, entry })).status).toBe(303)
  })

  test('of a contact without sends leads to its entry; when that is removed, to the list', async () => {
    const contact = newContact()
    const { headers } = await form('suppress', {
      accountId: account.accountId,
      contact,
      channelId: '',
      reason: '',
    })
    const [entry] = await entriesOf(contact)
    const suppressionId = entry?.suppressionId ?? ''
    expect(headers.get('location')).toBe(`/contact?suppressionId=${suppressionId}`)
    namesNowhere(await contactPage({ suppressionId }), contact)
    const removed = await form('unsuppress', { suppressionId, entry: suppressionId })
    expect(removed.headers.get('location')).toBe(`/suppressions?accountId=${account.accountId}`)
  })

  test('by another account’s channel, or with a reason of several lines, is refused', async () => {
    const requestId = await finished(newContact())
    const { channelId } = await buildAccount(service)
    expect((await form('suppress', { requestId, channelId, reason: '' })).status).toBe(400)
    expect((await form('suppress', { requestId, channelId: '', reason: 'a\nb' })).status).toBe(400)
  })
})

describe('an erasure', () => {
  test('asks first, then erases as the command does, and the suppression stays in force by its hash', async () => {
    const contact = newContact()
    const requestId = await finished(contact)
    await form('suppress', { requestId, channelId: '', reason: '' })
    const question = await form('erase', { requestId }, withPepper.url)
    expect(question.text).toContain('from this account?')
    expect((await finishedTimeline(service, requestId, account.apiKey)).contact.value).toBe(contact)
    const done = await form('erase', { requestId, confirmed: 'yes' }, withPepper.url)
    expect(done.text).toContain('Erased: 1 send')
    expect((await finishedTimeline(service, requestId, account.apiKey)).contact.value).toBe('erased')
    expect(await entriesOf(contact)).toMatchObject([{ contactValue: null, cause: 'manual' }])
    expect((await contactPage({ requestId })).status).toBe(404)
    expect(service.logs.filter(({ event }) => event === 'contact_erased')).toMatchObject([
      { erased: 1, unfinished: 0 },
    ])
    const again = await getPage(
      `${withPepper.url}/contact?${new URLSearchParams({ accountId: account.accountId, contact })}`,
    )
    expect(again.text).toContain('It is suppressed for this account.')
  })

  test('without the pepper is refused, with the name of the setting, and erases nothing', async () => {
    const contact = newContact()
    const requestId = await finished(contact)
    for (const page of [
      await form('erase', { requestId }),
      await form('erase', { requestId, confirmed: 'yes' }),
    ]) {
      expect(page.status).toBe(409)
      expect(page.text).toContain('API_KEY_PEPPER')
    }
    expect((await finishedTimeline(service, requestId, account.apiKey)).contact.value).toBe(contact)
  })
})

describe('sent twice?', () => {
  const twice = async (requestId: string) => (await getPage(`${admin.url}/support/${requestId}`)).text

  test('names the other sends to the contact with the same content, with the API key and the Idempotency-Key of each', async () => {
    const contact = newContact()
    const { apiKey: other } = await buildKey(service, account.accountId)
    const post = (text: string, key?: string, apiKey = account.apiKey) =>
      fetch(`${service.url}/v1/messages`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${apiKey}`,
          'Content-Type': 'application/json',
          ...(key !== undefined && { 'Idempotency-Key': key }),
        },
        body: JSON.stringify({ channelId: account.channelId, ...textBody(text, contact) }),
      })
    const idOf = async (response: Response | Promise<Response>) =>
      ((await (await response).json()) as { requestId: string }).requestId
    const first = await idOf(post('Your code is 1234', `key-${contact}`))
    const second = await idOf(post('Your code is 1234', undefined, other))
    const different = await idOf(post('Your code is 4321'))
    const page = await twice(first)
    expect(page).toContain('Another send to this contact within a day has the same content.')
    expect(page).toContain(second)
    expect(page).not.toContain(different)
    expect(page).toMatch(/yes, with the hash [0-9a-f]{8}…/)
    expect(page).toContain('none')
    // It may not be sent yet.
    expect(page).toMatch(new RegExp(` (queued|sending|sent) ${account.apiKey.slice(0, 8)}… yes`))
    expect(page).toMatch(new RegExp(` (queued|sending|sent) ${other.slice(0, 8)}… none`))
    expect(await twice(different)).not.toContain('Sent twice?')
  })

  test('a send’s details name its API key; of one that an earlier release accepted, they say that it is not recorded', async () => {
    const requestId = await accept(service, account, textBody())
    const details = async () => (await getPage(`${admin.url}/support/${requestId}`)).text
    expect(await details()).toContain(`API key ${account.apiKey.slice(0, 8)}… ${account.keyId}`)
    expect(await details()).toContain('Idempotency-Key none')
    const { $client } = service.runtime.db
    await $client.query('update sends set api_key_id = gen_random_uuid() where request_id = $1', [requestId])
    expect(await details()).toMatch(/API key [0-9a-f-]{36}, which is no longer there/)
    await $client.query('update sends set api_key_id = null where request_id = $1', [requestId])
    expect(await details()).toContain(
      'API key not recorded: an operator tried the channel, or a process of an earlier release accepted the send',
    )
  })

  test('an erased send still names its API key', async () => {
    const requestId = await finished(newContact())
    await form('erase', { requestId, confirmed: 'yes' }, withPepper.url)
    expect(await twice(requestId)).toContain(`${account.apiKey.slice(0, 8)}…`)
  })

  test('doesn’t name those of another account, of another day, or to another contact', async () => {
    const contact = newContact()
    const requestId = await accept(service, account, textBody('same', contact))
    await accept(service, await buildAccount(service), textBody('same', contact))
    await accept(service, account, textBody('same', newContact()))
    const old = await accept(service, account, textBody('same', contact))
    await service.runtime.db.$client.query(
      `update sends set accepted_at = accepted_at - interval '25 hours' where request_id = $1`,
      [old],
    )
    expect(await twice(requestId)).not.toContain('Sent twice?')
  })
})
