import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { updateChannel } from '../../db/accounts/channels.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { explainUnknownId } from '../../src/core/requests/request-id.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { getPage, postForm } from '../support/pages.ts'
import { startTestService, type TestService, testSuppressionKey } from '../support/service.ts'

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

const paste = (q: string) => postForm(`${admin.url}/support`, { q })
const link = (q: string) => getPage(`${admin.url}/support?${new URLSearchParams({ q })}`)
const target = async (q: string) => (await paste(q)).headers.get('location')
const send = (contact = newContact(), more: object = {}) =>
  accept(service, account, { ...textBody('Hello', contact), ...more })
const nobody = '01a1fde1-ea47-76ae-9a8d-559e0203a63f'

describe('a requestId is opened', () => {
  test.each([
    ['as it is', (id: string) => id],
    ['with spaces', (id: string) => `  ${id}\t`],
    ['in capitals, in quotes', (id: string) => `"${id.toUpperCase()}"`],
    ['in a link', (id: string) => `https://api.example.com/v1/messages/${id}?x=1`],
    [
      'in a log line beside the ids of its account and channel',
      (id: string) =>
        `{"requestId":"${id}","event":"sent","accountId":"${account.accountId}","channelId":"${account.channelId}"}`,
    ],
    ['in lines', (id: string) => `Hello,\r\nmy id is\r\n${id}.\r\nThanks`],
    ['as the webhook-id of a callback', (id: string) => `webhook-id: ${id}-2`],
    ['beside the number that it went to', (id: string) => `${id} to +4915199999999`],
  ])('%s', async (_how, written) => {
    const requestId = await send()
    for (const page of [
      await paste(written(requestId)),
      await link(written(requestId)),
      await getPage(`${admin.url}/support?${new URLSearchParams({ requestId: written(requestId) })}`),
    ])
      expect([page.status, page.headers.get('location')]).toEqual([303, `/support/${requestId}`])
  })
})

test('an id of something else is opened, whatever it is of', async () => {
  const { endpointId } = await buildEndpoint(service, account.accountId, 'https://example.com/secret-path')
  const contact = { type: 'phone', value: newContact() } as const
  const { entry } = await addSuppression(
    service.runtime.db,
    { accountId: account.accountId, contact, channelId: null },
    null,
    testSuppressionKey,
  )
  for (const [id, page] of [
    [account.channelId, `/channels/${account.channelId}`],
    [endpointId, `/endpoints/${endpointId}`],
    [account.flowId, `/sends?flowId=${account.flowId}`],
    [account.accountId, `/sends?accountId=${account.accountId}`],
    [entry.suppressionId, `/contact?suppressionId=${entry.suppressionId}`],
  ])
    expect(await target(`please look at ${id}`)).toBe(page)
})

test.each(['', '/nothing', `/${nobody}`])('the box is on the support page %s', async (path) => {
  expect((await getPage(`${admin.url}/support${path}`)).html).toContain(
    '<form class="find" method="post" action="/support">',
  )
})

test('an id of no send is a 404 with possible reasons, and says which kinds have no match', async () => {
  const facts = { now: new Date(), retentionDays: 90 }
  for (const page of [
    await getPage(`${admin.url}/support/${nobody}`),
    await paste(nobody),
    await link(nobody),
  ]) {
    expect(page.status).toBe(404)
    expect(page.text).toContain(explainUnknownId(nobody, facts).why)
    expect(page.text).toContain(`grep ${nobody}`)
    expect(page.text).toMatch(/No match for: an id 01a1fde1-ea47-76ae-9a8d-559e0203a63f;/)
  }
  const words = await paste('hello')
  expect(words.status).toBe(404)
  expect(words.text).toContain(explainUnknownId('hello', facts).why)
  expect(words.text).toContain('No match for: a reference; the name of a channel or an account')
})

describe('a contact', () => {
  test.each([
    [
      'in a sentence',
      (phone: string) =>
        `my code for ${phone.slice(0, 3)} ${phone.slice(3, 6)} ${phone.slice(6)} didn't arrive`,
    ],
    ['with 00 and a direction mark', (phone: string) => `\u202a00${phone.slice(1)}\u202c`],
    ['between other numbers', (phone: string) => `2026-11-25 14:02:11 order 4711: ${phone}`],
    ['without its sign, behind a number', (phone: string) => `2x ${phone.slice(1)}`],
  ])('is opened %s, by an id in place of the number', async (_how, written) => {
    const phone = newContact()
    const requestId = await send(phone)
    expect(await target(written(phone))).toBe(`/contact?requestId=${requestId}`)
  })

  test('is found in any case of the letters of its address, pasted once or twice', async () => {
    const address = `Ann-${newContact().slice(1)}@example.com`
    const requestId = await send(address)
    for (const pasted of [address.toUpperCase(), `${address.toLowerCase()}, ${address}`])
      expect(await target(pasted)).toBe(`/contact?requestId=${requestId}`)
  })

  test('is opened in a header of a mail', async () => {
    const address = `${newContact().slice(1)}@example.com`
    const requestId = await send(address)
    expect(await target(`From: Bob <${address.replace('example', 'EXAMPLE')}>`)).toBe(
      `/contact?requestId=${requestId}`,
    )
  })

  test('that two accounts know is listed with both', async () => {
    const phone = newContact()
    await send(phone)
    const other = await buildAccount(service)
    const theirs = await accept(service, other, textBody('Hello', phone))
    const page = await paste(phone)
    expect(page.status).toBe(200)
    expect(page.text).toContain('Found 2 things')
    expect(page.html).toContain(`href="/contact?requestId=${theirs}"`)
  })

  test('that is on a suppression list alone is opened, too', async () => {
    const contact = { type: 'phone', value: newContact() } as const
    const asked = { accountId: account.accountId, contact, channelId: null }
    const { entry } = await addSuppression(service.runtime.db, asked, null, testSuppressionKey)
    expect(await target(contact.value)).toBe(`/contact?suppressionId=${entry.suppressionId}`)
  })

  test('that got nothing is answered, masked, and is in no link', async () => {
    const phone = newContact()
    const page = await link(`for ${phone}, please`)
    expect(page.status).toBe(200)
    expect(page.text).toContain('No send found.')
    expect(page.text).toContain(`No match for: a phone number ${phone.slice(0, 3)}`)
    expect(page.html).not.toMatch(new RegExp(`(href|action)="[^"]*${phone.slice(1)}`))
    expect(page.html.split(phone)).toHaveLength(2)
  })

  test('without its country code is asked for with it', async () => {
    const page = await paste('it is 0151 12345678')
    expect(page.text).toContain('0151 12345678 has no country code.')
  })
})

describe('a provider’s message id', () => {
  const giveMessageId = (requestId: string, messageId: string) =>
    service.runtime.db.$client.query('update sends set provider_message_id = $2 where request_id = $1', [
      requestId,
      messageId,
    ])
  const sid = 'SM0123456789abcdef0123456789abcde'

  test.each([
    ['in a client’s log line', `${sid}1`, `{"to":"+4915100000001","sid":"${sid}1","status":"queued"}`],
    ['of WhatsApp, in a sentence', 'wamid.HBgNNDkxNTE=', 'they see wamid.HBgNNDkxNTE= and nothing else'],
    ['that is written alone', 'MSG-f00d-2', 'MSG-f00d-2'],
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
  ])('%s leads to its send; if two have it, to both', async (_how, messageId, pasted) => {
    const requestId = await send()
    await giveMessageId(requestId, messageId)
    expect(await target(pasted)).toBe(`/support/${requestId}`)
    const other = await send()
    await giveMessageId(other, messageId)
    const page = await paste(pasted)
    expect(page.status).toBe(200)
    for (const id of [requestId, other]) expect(page.html).toContain(`href="/support/${id}"`)
  })

  test('of no send says so, as all were looked at', async () => {
    const page = await paste('SMf00d0002')
    expect(page.status).toBe(404)
    expect(page.text).toContain('No send has it as its provider message id.')
  })
})

describe('a reference', () => {
  test('is opened alone, in quotes, behind its name and as a word; if several sends have it, all are listed', async () => {
    const reference = `order/${newContact()}`
    const requestId = await send(newContact(), { reference })
    for (const pasted of [
      ` ${reference} `,
      `where is "${reference}"?`,
      `{"reference":"${reference}"}`,
      `is ${reference} sent?`,
    ])
      expect(await target(pasted)).toBe(`/support/${requestId}`)
    const later = await send(newContact(), {
      reference,
      sendAt: new Date(Date.now() + 3_600_000).toISOString(),
    })
    const both = await paste(reference)
    for (const id of [requestId, later]) expect(both.html).toContain(`href="/support/${id}"`)
  })
})

describe('a name', () => {
  test('of a channel or an account is opened, in either case; a part of it is listed; in a sentence it has to be a whole word', async () => {
    const { db } = service.runtime
    const accountId = await createAccount(db, 'Zebra Logistics')
    const channelId = await buildChannel(service, account.accountId)
    await updateChannel(db, channelId, { name: 'Zebra SMS' })
    expect(await target('zebra logistics')).toBe(`/sends?accountId=${accountId}`)
    expect(await target('is Zebra SMS down?')).toBe(`/channels/${channelId}`)
    const both = await paste('zebra')
    expect(both.text).toContain('Found 2 things')
    expect((await paste('nozebra smsx')).status).toBe(404)
  })
})

describe('a code', () => {
  test.each([
    ['131047', 'whatsapp-cloud', 'only a template can be sent'],
    ['they get error 21610', 'twilio', 'has unsubscribed'],
    ['550 5.1.1 <a b> unknown', 'smtp', 'There is no such mailbox'],
  ])('“%s” is explained, and leads to the sends with it', async (pasted, provider, meaning) => {
    const page = await paste(pasted)
    expect(page.status).toBe(200)
    expect(page.text).toContain(`of ${provider}`)
    expect(page.text).toContain(meaning)
    expect(page.html).toContain('href="/sends?providerCode=')
  })
})

test('a text that is too long is refused, a long one isn’t', async () => {
  const requestId = await send()
  expect(await target(`${requestId} ${'x'.repeat(60_000)}`)).toBe(`/support/${requestId}`)
  expect((await paste('x'.repeat(300_000))).status).toBe(413)
})

describe('outbound trace takes the same', () => {
  const trace = async (text: string) => {
    const { stdout } = await runCli(service, 'trace', text)
    return JSON.parse(stdout)
  }

  test('what leads to one send is traced', async () => {
    const phone = newContact()
    const requestId = await send(phone, { reference: `ref-${phone}` })
    for (const text of [`my code for ${phone} didn't arrive`, `ref-${phone}`, `>> ${requestId}`])
      expect(await trace(text)).toMatchObject({ requestId, status: 'queued' })
  })

  test('what leads to several, or to something else, is listed; a code is explained', async () => {
    const phone = newContact()
    const both = [await send(phone), await send(phone)]
    const { found } = await trace(phone)
    expect(found.map(({ id }: { id: string }) => id).sort()).toEqual(both.sort())
    expect(await trace(account.channelId)).toMatchObject({
      found: [{ kind: 'channel', id: account.channelId }],
    })
    expect(await trace('131047')).toMatchObject({ found: [], codes: [{ provider: 'whatsapp-cloud' }] })
  })

  test.each([
    ['a number', 'No send found. No account has sent this contact anything', () => newContact()],
    ['a number in a sentence', 'No send found.', () => `my code for ${newContact()} didn't arrive`],
    ['a local number', '0151 12345678 has no country code.', () => 'it is 0151 12345678'],
    ['a sentence', 'The text contains no requestId.', () => 'nothing came'],
  ])('%s that leads to nothing exits with 3, in the words of the box', async (_what, words, written) => {
    const text = written()
    const { status, stderr } = await runCli(service, 'trace', text)
    const page = await paste(text)
    expect(status).toBe(3)
    const [noMatch = ''] = /No match for: .*?\.(?= |$)/.exec(stderr.trim()) ?? []
    expect(noMatch).not.toBe('')
    for (const part of [words, noMatch]) {
      expect(stderr).toContain(part)
      expect(page.text).toContain(part)
    }
  })
})
