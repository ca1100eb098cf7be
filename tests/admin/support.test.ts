import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { holdChannel } from '../../db/accounts/channels.ts'
import { searchSends } from '../../db/sends/search.ts'
import { eraseContact } from '../../db/upkeep/erase.ts'
import { UnknownIdPage } from '../../src/admin/support/unknown-id-page.tsx'
import { explainUnknownId } from '../../src/core/request-id.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { samples } from '../support/media-samples.ts'
import { getPage, postForm } from '../support/pages.ts'
import { finishedTimeline, soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let admin: TestAdmin
let showing: TestAdmin
let account: Account
let heldChannelId: string

const rejected = '+15550100103'
const uncertain = '+15550100105'

beforeAll(async () => {
  service = await startTestService({ MEDIA_RETENTION_HOURS: '0' })
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

async function finished(body: object): Promise<string> {
  const requestId = await accept(service, account, body)
  await finishedTimeline(service, requestId, account.apiKey)
  return requestId
}

/** A send that waits, because its channel is held. */
const waiting = (contact = newContact()) =>
  accept(service, { ...account, channelId: heldChannelId }, textBody('Hello', contact))

const sendPage = (requestId: string, query = '') => getPage(`${admin.url}/support/${requestId}${query}`)

describe('one box', () => {
  const id = '01a1fde1-ea47-76ae-9a8d-559e0203a63f'

  test.each([
    ['as it is', id],
    ['with spaces', `  ${id}\t`],
    ['in quotes', `"${id}"`],
    ['in capitals', id.toUpperCase()],
    ['in a link', `https://api.example.com/v1/messages/${id}?x=1`],
    [
      'in a log line',
      `{"level":"info","time":"2026-11-21T11:33:23.692Z","requestId":"${id}","event":"sent"}`,
    ],
    ['in lines', `Hello,\r\nmy id is\r\n${id}.\r\nThanks`],
  ])('finds a requestId pasted %s', async (_how, pasted) => {
    const { status, headers } = await postForm(`${admin.url}/support/find`, { requestId: pasted })
    expect([status, headers.get('location')]).toEqual([303, `/support/${id}`])
    const link = await getPage(`${admin.url}/support?requestId=${encodeURIComponent(pasted)}`)
    expect([link.status, link.headers.get('location')]).toEqual([303, `/support/${id}`])
  })

  test('is on top of every support page', async () => {
    const requestId = await waiting()
    for (const path of ['', '/search', `/${requestId}`, '/nothing']) {
      expect((await getPage(`${admin.url}/support${path}`)).html).toContain('action="/support/find"')
    }
  })

  test('an id of no send is a 404 that gives possible reasons and suggests what to search for', async () => {
    const facts = { now: new Date(), retentionDays: 90 }
    for (const [page, pasted] of [
      [await sendPage(id), id],
      [await postForm(`${admin.url}/support/find`, { requestId: 'hello' }), 'hello'],
      [await sendPage('hello'), 'hello'],
    ] as const) {
      expect(page.status).toBe(404)
      expect(page.text.replaceAll('  ', ' ')).toContain(explainUnknownId(pasted, facts).why)
    }
    expect((await sendPage(id)).text).toContain(`grep ${id}`)
  })

  const paste = (requestId: string) => postForm(`${admin.url}/support/find`, { requestId })

  test('takes a phone number or an address, and finds what was sent to it', async () => {
    for (const contact of [newContact(), `${newContact().slice(1)}@example.com`]) {
      const requestId = await waiting(contact)
      const page = await paste(` ${contact.replace('+', '\u202a+')} `)
      expect(page.status).toBe(200)
      expect(page.html).toContain(`<a href="/support/${requestId}">`)
    }
    const nobody = await paste(newContact())
    expect(nobody.status).toBe(200)
    expect(nobody.text).toContain('No send found.')
    expect(nobody.text).not.toContain('requestId has 36 characters')
  })

  test.each([
    ['as a provider writes it', 'SMf00d0001', 'SMf00d0001'],
    ['in quotes', 'wamid.HBgNNDkxNTE=', '"wamid.HBgNNDkxNTE="'],
    ['of digits alone', '4915000000009', '4915000000009'],
    ['of the form of an address', '<4711.abc@mail.example>', '<4711.abc@mail.example>'],
    [
      'of the form of a requestId',
      '01a1fde1-ea47-76ae-9a8d-559e0203a641',
      '01A1FDE1-EA47-76AE-9A8D-559E0203A641',
    ],
    [
      'that contains a UUID',
      '<0102018f2b6a7c11-5b1f3c1e-8a52-4c5e-9d3d-2f0c8d7be2a1-000000@eu-west-1.amazonses.com>',
      '<0102018f2b6a7c11-5b1f3c1e-8a52-4c5e-9d3d-2f0c8d7be2a1-000000@eu-west-1.amazonses.com>',
    ],
    [
      'that is a UUID in capitals',
      '5B1F3C1E-8A52-4C5E-9D3D-2F0C8D7BE2A1',
      '5B1F3C1E-8A52-4C5E-9D3D-2F0C8D7BE2A1',
    ],
  ])('takes a provider’s message id %s, and leads to its send', async (_how, messageId, pasted) => {
    const requestId = await finished(textBody())
    await giveMessageId(requestId, messageId)
    let page = await paste(pasted)
    if (page.headers.get('location')?.endsWith(messageId))
      page = await getPage(`${admin.url}/support/${messageId}`)
    expect([page.status, page.headers.get('location')]).toEqual([303, `/support/${requestId}`])
    const other = await finished(textBody())
    await giveMessageId(other, messageId)
    const both = messageId.startsWith('01a1') ? await sendPage(messageId) : await paste(pasted)
    expect(both.status).toBe(200)
    for (const id of [requestId, other]) expect(both.html).toContain(`<a href="/support/${id}">`)
  })

  const giveMessageId = (requestId: string, messageId: string) =>
    service.runtime.db.$client.query('update sends set provider_message_id = $2 where request_id = $1', [
      requestId,
      messageId,
    ])

  test('of an unknown value says so, and asks for the complete value', async () => {
    const page = await paste('SMf00d0002')
    expect(page.status).toBe(404)
    expect(page.text).toContain('The text contains no requestId.')
    expect(page.text).toContain('No send has it as its provider message id.')
  })

  test('says how many sends were searched where these were not all', () => {
    const input = { messageId: 'SMf00d0002' }
    const page = { sends: [], olderThan: account.channelId, lookedBackTo: new Date() }
    const unknown = { why: 'The text contains no requestId.', next: [] }
    const html = String(UnknownIdPage({ pasted: 'SMf00d0002', unknown, looked: { input, page } }))
    expect(html).toContain('None of the newest 100,000 sends has it as its provider message id.')
    expect(html).not.toContain('No send has it')
  })
})

describe('the page of a send', () => {
  test('summarises the result in one sentence, then shows the timeline, and masks the contact', async () => {
    const contact = newContact()
    const requestId = await finished({ ...textBody('the secret words', contact), flowId: account.flowId })
    const page = await sendPage(requestId)
    expect(page.status).toBe(200)
    for (const fact of ['Account Test', 'Attempts 1', account.flowId, account.channelId, requestId]) {
      expect(page.text).toContain(fact)
    }
    expect(page.text).toContain('only the provider knows whether it reached the contact')
    expect(page.text).toContain(contact.slice(-2).padStart(contact.length - 3, '*'))
    expect(page.html).not.toContain(contact)
    expect(page.html).not.toContain(contact.slice(3, -2))
  })

  test('shows what the message says only where SUPPORT_SHOW_CONTENT is true', async () => {
    const requestId = await finished(textBody('the secret words'))
    const hidden = await sendPage(requestId)
    expect(hidden.html).not.toContain('the secret words')
    expect(hidden.text).toContain('To show it, set SUPPORT_SHOW_CONTENT to true.')
    expect((await getPage(`${showing.url}/support/${requestId}`)).text).toContain('the secret words')
  })

  test('names the conversation that it closed and the one that it joined', async () => {
    const contact = newContact()
    const first = await finished(textBody('Hello', contact))
    const second = await finished({ ...textBody('Goodbye', contact), closeConversation: true })
    const closed = await timelineOf(first)
    const joined = await timelineOf(second)
    expect(joined.conversationId).not.toBe(closed.conversationId)
    expect((await sendPage(second)).text).toContain(String(closed.conversationId))
    expect((await sendPage(second)).text).toContain(String(joined.conversationId))
    expect((await sendPage(first)).html).toContain(`href="/support/${second}"`)
  })

  test('says of erased content that it is no longer kept', async () => {
    const { db } = service.runtime
    const media = { mediaType: 'image', base64: samples.png.toString('base64'), caption: 'secret words' }
    const template = { name: 'secret words', variables: [] }
    const messages = [
      { type: 'text', text: { value: 'secret words' } },
      { type: 'template', template },
      { type: 'media', media },
    ]
    for (const message of messages) {
      const value = newContact()
      const requestId = await finished({ contact: { value }, message })
      await eraseContact(db, { accountId: account.accountId, contact: { type: 'phone', value } })
      const page = await getPage(`${showing.url}/support/${requestId}`)
      expect(page.status).toBe(200)
      expect(page.text).toContain('The content is no longer kept.')
      expect(page.html).not.toContain('secret words')
    }
  })

  test('shows no answer for an attempt that got none', async () => {
    const page = await sendPage(await finished(textBody('Hello', uncertain)))
    expect(page.text).toContain('It is unknown whether the provider accepted it')
    expect(page.html).not.toContain('<dl class="answer"></dl>')
    expect((await sendPage(await finished(textBody('Hello', rejected)))).html).toContain(
      '<dl class="answer"><dt>',
    )
  })

  test.each([
    ['+15550100106', 'delivered', 'Delivered: the provider reported at'],
    ['+15550100107', 'read', 'Read: the provider reported at'],
    ['+15550100108', 'undelivered', 'reported at'],
  ])('of a message to %s says that it is %s, and since when', async (contact, delivery, words) => {
    const requestId = await finished(textBody('Hello', contact))
    await eventually(delivery, async () => (await timelineOf(requestId)).delivery === delivery)
    const { text, html } = await sendPage(requestId)
    expect(text).toContain(words)
    expect(text).toContain(`, ${delivery}`)
    expect(text).toMatch(new RegExp(`Delivery ${delivery} since`))
    if (delivery === 'undelivered') expect(text).toContain('the sandbox does not deliver to this recipient')
    expect(html).not.toContain(contact)
    expect(html).not.toContain('/replay"')
  })

  test('suggests a replay by its button, and other actions by their commands', async () => {
    const inDoubt = await sendPage(await finished(textBody('Hello', uncertain)))
    expect(inDoubt.text).toContain('Replay it only if the provider does not have it.')
    expect(inDoubt.text).not.toContain('Run:')
    expect(inDoubt.html).toContain('/replay"')
    const held = await sendPage(await waiting())
    expect(held.html).toContain(`Run: <code>channel resume ${heldChannelId}</code>`)
  })

  test('has a sentence for the customer, and offers no replay, where the send was sent', async () => {
    const page = await sendPage(await finished(textBody()))
    expect(page.text).toContain('For the customer')
    expect(page.html).not.toContain('/replay"')
  })

  test('updates by itself until the send has ended, unless switched off', async () => {
    const moving = await waiting()
    expect((await sendPage(moving)).html).toContain('<meta http-equiv="refresh" content="3"/>')
    expect((await sendPage(moving, '?updates=off')).html).not.toContain('http-equiv="refresh"')
    expect((await sendPage(await finished(textBody()))).html).not.toContain('http-equiv="refresh"')
  })

  const timelineOf = (requestId: string) => finishedTimeline(service, requestId, account.apiKey)
})

describe('a cancel', () => {
  const cancelUrl = (requestId: string) => `${admin.url}/support/${requestId}/cancel`
  const scheduled = (more: object = {}) =>
    accept(service, account, {
      ...textBody(),
      sendAt: new Date(Date.now() + 3_600_000).toISOString(),
      ...more,
    })

  test('is offered for a send that waits, asks first, ends it, and is refused afterwards', async () => {
    const requestId = await scheduled()
    const page = await sendPage(requestId)
    expect(page.text).toContain('Scheduled for')
    expect(page.html).toContain(`href="/support/${requestId}/cancel"`)
    expect((await getPage(cancelUrl(requestId))).text).toContain('Cancel this text?')
    const { status, headers } = await postForm(cancelUrl(requestId), {})
    expect([status, headers.get('location')]).toEqual([303, `/support/${requestId}`])
    const canceled = await sendPage(requestId)
    expect(canceled.text).toContain('Not sent. It was canceled at')
    expect(canceled.html).not.toContain('/cancel"')
    expect((await postForm(cancelUrl(requestId), {})).status).toBe(303)
    expect(service.logsOf(requestId).filter(({ event }) => event === 'canceled')).toMatchObject([
      { by: 'support page' },
    ])
  })

  test('of what has ended is a 409, and of no send a 404', async () => {
    const sent = await finished(textBody())
    expect((await sendPage(sent)).html).not.toContain('/cancel"')
    for (const page of [await getPage(cancelUrl(sent)), await postForm(cancelUrl(sent), {})]) {
      expect([
        page.status,
        page.text.includes('It is sent: only a send that waits can be canceled.'),
      ]).toEqual([409, true])
    }
    expect((await postForm(cancelUrl('01a1fde1-ea47-76ae-9a8d-559e0203a63f'), {})).status).toBe(404)
  })

  test('the box takes a reference, and the search has a field for it and a state of scheduled sends', async () => {
    const reference = `order ${newContact()} #1`
    const requestId = await scheduled({ reference })
    const { status, headers } = await postForm(`${admin.url}/support/find`, { requestId: ` ${reference} ` })
    expect([status, headers.get('location')]).toEqual([303, `/support/${requestId}`])
    expect((await sendPage(requestId)).text).toContain(reference)
    const other = await scheduled({ reference })
    const both = await postForm(`${admin.url}/support/find`, { requestId: reference })
    for (const id of [requestId, other]) expect(both.html).toContain(`<a href="/support/${id}">`)
    const query = new URLSearchParams({ reference, state: 'scheduled' })
    expect((await getPage(`${admin.url}/support/search?${query}`)).html).toContain(other)
  })
})

describe('a replay', () => {
  const replayUrl = (requestId: string) => `${admin.url}/support/${requestId}/replay`

  test('asks for confirmation, then calls the provider again and redirects to the page of the send', async () => {
    const requestId = await finished(textBody('Hello', rejected))
    expect((await sendPage(requestId)).html).toContain(`href="/support/${requestId}/replay"`)
    const question = await getPage(replayUrl(requestId))
    expect(question.status).toBe(200)
    expect(question.text).toContain('Send this text again?')
    expect(question.html).not.toContain(rejected)
    expect((await timeline(requestId)).attempts).toBe(1)

    const { status, headers } = await postForm(replayUrl(requestId), {})
    expect([status, headers.get('location')]).toEqual([303, `/support/${requestId}`])
    expect(service.logsOf(requestId)).toContainEqual(expect.objectContaining({ event: 'replayed' }))
    const again = await finishedTimeline(service, requestId, account.apiKey)
    expect(again).toMatchObject({ status: 'failed', attempts: 2 })
  })

  test('of an uncertain send warns that the contact may get it twice', async () => {
    const requestId = await finished(textBody('Hello', uncertain))
    expect((await getPage(replayUrl(requestId))).text).toContain('The contact may get it twice')
  })

  test('of a send that failed after an attempt that may have got through warns of it, too', async () => {
    const requestId = await finished(textBody('Hello', uncertain))
    await service.runtime.db.$client.query(`update sends set status = 'failed' where request_id = $1`, [
      requestId,
    ])
    expect((await getPage(replayUrl(requestId))).text).toContain('The contact may get it twice')
    const ofRefused = await finished(textBody('Hello', rejected))
    expect((await getPage(replayUrl(ofRefused))).text).not.toContain('The contact may get it twice')
  })

  test('is refused with an explanation: for a sent send, an unfinished one, one without its media, and an unknown one', async () => {
    const sent = await finished(textBody())
    const moving = await waiting()
    const withMedia = { mediaType: 'image', base64: samples.png.toString('base64') }
    const trimmed = await finished({
      contact: { value: rejected },
      message: { type: 'media', media: withMedia },
    })
    await service.runtime.db.$client.query('delete from media where request_id = $1', [trimmed])
    const cases = [
      [sent, 409, 'It was sent: a replay would send it twice.'],
      [moving, 409, 'It has not ended yet'],
      [trimmed, 409, 'Its media is no longer kept'],
      ['01a1fde1-ea47-76ae-9a8d-559e0203a63f', 404, 'There is no such send'],
      ['nothing', 404, 'There is no such send'],
    ] as const
    for (const [requestId, status, words] of cases) {
      const page = await postForm(replayUrl(requestId), {})
      expect(page.status).toBe(status)
      expect(page.text).toContain(words)
    }
    expect((await timeline(sent)).attempts).toBe(1)
  })

  const timeline = (requestId: string) => finishedTimeline(service, requestId, account.apiKey)
})

describe('a search', () => {
  const search = (fields: Record<string, string>) =>
    getPage(`${admin.url}/support/search?${new URLSearchParams(fields)}`)
  const idsIn = (html: string) =>
    [...html.matchAll(/<a href="\/support\/([0-9a-f-]{36})">/g)].map(([, id]) => id)

  test('by contact finds what was sent to it on every channel, however the number is written, and masks it', async () => {
    const contact = newContact()
    const first = await finished(textBody('Hello', contact))
    const second = await waiting(contact)
    await waiting()
    const written = `00${contact.slice(1, 3)} (${contact.slice(3, 6)}) ${contact.slice(6)}`
    const page = await postForm(`${admin.url}/support/search`, { contact: written })
    expect(page.status).toBe(200)
    expect(idsIn(page.html)).toEqual([second, first])
    expect(page.html).not.toContain(contact)
    const sent = await postForm(`${admin.url}/support/search`, { contact, state: 'sent' })
    expect(idsIn(sent.html)).toEqual([first])
    const held = await postForm(`${admin.url}/support/search`, { contact, channel: heldChannelId })
    expect(idsIn(held.html)).toEqual([second])
  })

  test('by e-mail address finds it whatever the case of its domain', async () => {
    const requestId = await finished(textBody('Hello', 'Ada@Example.com'))
    const { html } = await postForm(`${admin.url}/support/search`, { contact: ' Ada@EXAMPLE.com ' })
    expect(idsIn(html)).toEqual([requestId])
  })

  test('by provider message id can be narrowed by channel and state, and the id is in no link', async () => {
    const requestId = await finished(textBody())
    const { providerMessageId } = await finishedTimeline(service, requestId, account.apiKey)
    const messageId = String(providerMessageId)
    const { html } = await postForm(`${admin.url}/support/search`, { messageId, state: 'sent' })
    expect(idsIn(html)).toEqual([requestId])
    expect(html).not.toMatch(new RegExp(`(href|action)="[^"]*${messageId}`))
    for (const fields of [{ state: 'failed' }, { channel: heldChannelId }] as Record<string, string>[])
      expect(idsIn((await postForm(`${admin.url}/support/search`, { messageId, ...fields })).html)).toEqual(
        [],
      )
    expect((await search({ messageId, state: 'sent' })).html).not.toContain(messageId)
  })

  test('a contact is in no URL, no link and no log line', async () => {
    const contact = newContact()
    await waiting(contact)
    const { html } = await postForm(`${admin.url}/support/search`, { contact })
    expect(html).not.toMatch(new RegExp(`(href|action)="[^"]*${contact.slice(1)}`))
    const redirected = await postForm(`${admin.url}/support/search`, { contact: '', state: 'failed' })
    expect(redirected.headers.get('location')).toBe('/support/search?state=failed')
    const inLink = await search({ contact, state: 'queued' })
    expect(inLink.html).not.toContain(contact)
    expect(JSON.stringify(service.logs)).not.toContain(contact.slice(1))
  })

  test.each(['sent', 'failed', 'uncertain', 'queued'])(
    'by the state %s finds those alone, the newest first',
    async (state) => {
      const contacts = { failed: rejected, uncertain, sent: newContact(), queued: newContact() }
      const make = () =>
        state === 'queued' ? waiting() : finished(textBody('Hello', contacts[state as 'sent']))
      const made = [await make(), await make()]
      const { html } = await search({ state })
      expect(idsIn(html).slice(0, 2)).toEqual(made.toReversed())
      const states = [...html.matchAll(/<td><span class="state (\w+)"/g)].map(([, each]) => each)
      expect(new Set(states)).toEqual(new Set([state]))
      const inChannel = await search({
        state,
        channel: state === 'queued' ? account.channelId : heldChannelId,
      })
      expect(idsIn(inChannel.html)).toEqual([])
    },
  )

  test('by channel takes its id or its name', async () => {
    const { db } = service.runtime
    await db.$client.query(`update channels set name = 'Held one' where id = $1`, [heldChannelId])
    const requestId = await waiting()
    for (const channel of [heldChannelId, 'Held one']) {
      expect(idsIn((await search({ channel })).html)[0]).toBe(requestId)
    }
    expect((await search({ channel: 'No such one' })).status).toBe(404)
    expect((await search({ channel: 'No such\0one' })).status).toBe(400)
  })

  test('by time finds what was accepted within it', async () => {
    const requestId = await waiting()
    const minute = (ms: number) => new Date(Date.now() + ms).toISOString().slice(0, 16)
    const [before, after] = [minute(-600_000), minute(600_000)]
    expect(idsIn((await search({ from: before, to: after })).html)).toContain(requestId)
    expect(idsIn((await search({ from: before, state: 'queued' })).html)).toContain(requestId)
    expect(idsIn((await search({ from: after })).html)).toEqual([])
    expect(idsIn((await search({ to: before })).html)).toEqual([])
  })

  test.each([
    ['from', 'yesterday', 'Accepted from: enter a date and time'],
    ['to', '2026-99-01T00:00', 'Accepted before: enter a date and time'],
    ['state', 'lost', 'State: choose one from the list.'],
    ['messageId', 'two words', 'Provider message id: enter 4 to 512 characters without spaces.'],
    ['contact', '12', 'Contact: enter a phone number or an e-mail address.'],
  ])('says what is wrong with %s %s', async (field, value, words) => {
    const page = await postForm(`${admin.url}/support/search`, { contact: '+4915100000000', [field]: value })
    expect(page.status).toBe(400)
    expect(page.text).toContain(words)
  })

  test('that no index serves reads a limited number of sends at a time, says so, and can be continued', async () => {
    const { db } = service.runtime
    const rare = await buildChannel(service, account.accountId)
    const inRare = await accept(service, { ...account, channelId: rare }, textBody())
    for (let n = 0; n < 12; n++) await waiting()
    const found: string[] = []
    let before: string | undefined
    let pages = 0
    for (; pages < 5 && found.length === 0; pages++) {
      const page = await searchSends(db, { channelIds: [rare], before }, 5)
      found.push(...page.sends.map(({ requestId }) => requestId))
      before = page.olderThan
      expect(page.lookedBackTo).toBeInstanceOf(Date)
    }
    expect([found, pages]).toEqual([[inRare], 3])
  })

  test('is paged, and shows each send once', async () => {
    const contact = newContact()
    const channelId = await buildChannel(service, account.accountId)
    await holdChannel(service.runtime.db, channelId, 'for pages')
    const made: string[] = []
    for (let n = 0; n < 60; n++)
      made.push(await accept(service, { ...account, channelId }, textBody('Hello', contact)))
    made.reverse()

    for (const fields of [{ channel: channelId }, { channel: channelId, state: 'queued' }] as Record<
      string,
      string
    >[]) {
      const first = await search(fields)
      const [, next = ''] = /<a class="button" href="([^"]+)">Older/.exec(first.html) ?? []
      const second = await getPage(admin.url + next.replaceAll('&amp;', '&'))
      expect([...idsIn(first.html), ...idsIn(second.html)]).toEqual(made)
      expect(second.html).not.toContain('Older')
    }
    const first = await postForm(`${admin.url}/support/search`, { contact })
    const hidden = [...first.html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)]
    const fields = Object.fromEntries(hidden.map(([, name, value]) => [name, value]))
    const second = await postForm(`${admin.url}/support/search`, fields)
    expect([...idsIn(first.html), ...idsIn(second.html)]).toEqual(made)
  })
})
