import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { holdChannel } from '../../db/accounts/channels.ts'
import { eraseContact } from '../../db/upkeep/erase.ts'
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
    expect(held.html).toContain(`Run: <code>outbound channel resume ${heldChannelId}</code>`)
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
      { by: 'admin' },
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
