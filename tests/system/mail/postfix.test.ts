import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Message } from '../../../src/core/messages/message.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { SmtpConfig } from '../../../src/providers/smtp/config.ts'
import { parseMail } from '../../../src/providers/smtp/dev/mail-part.ts'
import { smtp as rules } from '../../../src/providers/smtp/index.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import type { Sender } from '../../../workers/providers/sender.ts'
import { createSmtpSender } from '../../../workers/providers/smtp.ts'
import { openSmtpConnections } from '../../../workers/providers/smtp-connections.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { samples } from '../../support/media-samples.ts'
import { canRunPostfix, type Postfix, startPostfix } from '../../support/postfix.ts'
import { eventually } from '../../support/wait.ts'

/** The mails of this service, by a real mail server: it takes them over SMTP, and puts them into a mailbox. */
describe.runIf(canRunPostfix)('Postfix', () => {
  const media = createMediaFetcher({ allowedPrivateNetworks: [] })
  let server: Postfix
  let provider: Sender<SmtpConfig>
  let config: SmtpConfig

  beforeAll(async () => {
    server = await startPostfix({ message_size_limit: '30000000', smtpd_timeout: '3s' })
  })
  beforeEach(() => {
    provider = createSmtpSender(media)
    config = configOf()
  })
  afterAll(async () => {
    await server?.stop()
    await media.close()
  })

  const configOf = (changes: object = {}) =>
    rules.config.parse({
      host: '127.0.0.1',
      port: server.port,
      from: 'Acme Müller <hello@example.org>',
      name: 'client.example.org',
      ...changes,
    })

  async function send(parts: Partial<Delivery<unknown>> = {}) {
    const contact = { type: 'email', value: 'ann@example.com', name: 'Ann "A" Ä' } as const
    const delivery = buildDelivery(rules, config, { contact, ...parts, config }) as Delivery<SmtpConfig>
    const outcome = await provider.send(delivery, AbortSignal.timeout(100_000))
    return { outcome, requestId: delivery.requestId }
  }

  /** A mail that was taken, read back from the mailbox. */
  async function received(parts: Partial<Delivery<unknown>> = {}) {
    const { outcome, requestId } = await send(parts)
    expect(outcome).toMatchObject({ outcome: 'sent', providerStatus: 250 })
    const raw = await eventually('the mail is in the mailbox', async () =>
      (await server.mails()).find((mail) => mail.includes(requestId)),
    )
    const text = raw.toString('latin1')
    expectStrict(text)
    return { ...parseMail(Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1')), text, requestId, outcome }
  }

  /** RFC 5322: headers of visible ASCII, each once, no line too long; a mailbox has bare line feeds. */
  function expectStrict(text: string): void {
    const [head = ''] = text.split('\n\n')
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(998)
    const fields = head.replace(/\n[ \t]+/g, ' ').split('\n')
    for (const field of fields) expect(field).toMatch(/^[!-9;-~]+: ?[\t -~]*$/)
    const names = fields.map((field) => field.slice(0, field.indexOf(':')).toLowerCase())
    const once = 'from to subject date message-id mime-version content-type reply-to auto-submitted'.split(
      ' ',
    )
    for (const name of once) expect(names.filter((one) => one === name).length, name).toBeLessThanOrEqual(1)
    for (const name of ['from', 'to', 'subject', 'date', 'message-id']) expect(names).toContain(name)
  }

  test('a mail with HTML, an inline picture and a PDF arrives as it was given, with its own headers', async () => {
    const html = '<p>Grüße <img src="cid:logo"></p>\r\n.\r\nFrom here\r\n'
    const pdf = Buffer.from('%PDF-1.7\n\0binary')
    const email = {
      ...{ subject: 'Ihre Bestellung', html, fromName: 'Acme "Orders"', replyTo: 'orders@example.com' },
      headers: { 'X-Order': '4711', References: '<a@example.com> <b@example.com>' },
      attachments: [
        { filename: 'logo.png', mimetype: 'image/png', contentId: 'logo', sizeBytes: samples.png.length },
        { filename: 'Übersicht.pdf', mimetype: 'application/pdf', sizeBytes: pdf.length },
      ],
    }
    const message = { type: 'text', text: { value: 'Grüße' }, email } as const
    const mail = await received({ message, attachmentContents: [samples.png, pdf] })
    expect(mail.headers).toMatchObject({
      ...{ subject: 'Ihre Bestellung', 'reply-to': 'orders@example.com', 'x-order': '4711' },
      references: '<a@example.com> <b@example.com>',
      from: expect.stringContaining('<hello@example.org>'),
    })
    const [body, attached] = mail.parts
    const [plain, related] = body?.parts ?? []
    expect(plain?.content.toString().trim()).toBe('Grüße')
    expect(related?.parts[0]?.content.toString()).toBe(html)
    expect(related?.parts[1]?.content).toEqual(samples.png)
    expect(attached?.content).toEqual(pdf)
  })

  test('a text arrives as it was sent, with the headers of its channel', async () => {
    config = configOf({
      subject: 'Grüße an {{contact.name}}',
      replyTo: 'Help <help@example.org>',
      returnPath: 'bounce+{requestId}@example.org',
      headers: { 'List-Unsubscribe': '<https://example.org/u?m={requestId}>' },
    })
    const value = `Grüße 👋\n.a line with a dot\n${'x'.repeat(2000)}\nFrom here`
    const { headers, content, requestId, outcome } = await received({
      message: { type: 'text', text: { value } },
    })
    expect(content.toString().replaceAll('\r\n', '\n').trimEnd()).toBe(value)
    expect(headers).toMatchObject({
      'return-path': `<bounce+${requestId}@example.org>`,
      'delivered-to': 'ann@example.com',
      from: 'Acme Müller <hello@example.org>',
      subject: 'Grüße an Ann "A" Ä',
      'reply-to': 'Help <help@example.org>',
      'message-id': `<${requestId}@example.org>`,
      'auto-submitted': 'auto-generated',
      'list-unsubscribe': `<https://example.org/u?m=${requestId}>`,
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
    })
    // The S means TLS.
    expect(headers.received).toMatch(/^from client\.example\.org .* with ESMTPS /)
    expect(outcome).toMatchObject({ providerMessageId: `<${requestId}@example.org>` })
  })

  test('a template arrives as text and HTML', async () => {
    const definition = { subject: 'Hi {{name}}', text: 'Dear {{name}}', html: '<b>{{name}}</b>' }
    const variables = [{ key: 'name', value: 'Ann & Bo' }]
    const message: Message = { type: 'template', template: { name: 'welcome', variables, definition } }
    const { headers, parts } = await received({ message })
    expect(headers.subject).toBe('Hi Ann & Bo')
    expect(parts.map(({ content }) => content.toString().trim())).toEqual([
      'Dear Ann & Bo',
      '<b>Ann &amp; Bo</b>',
    ])
  })

  test('an attachment of 16 MiB arrives to the byte', async () => {
    const mediaContent = Buffer.alloc(16 * 1024 * 1024, Buffer.from([0, 255, 13, 10, 46, 13, 10]))
    const message: Message = {
      type: 'media',
      media: { mediaType: 'document', mimetype: 'application/pdf', filename: 'Grüße.pdf', caption: 'Hi' },
    }
    const { parts } = await received({ message, mediaContent })
    expect(parts[0]?.content.toString().trim()).toBe('Hi')
    expect(parts[1]?.content.equals(mediaContent)).toBe(true)
  })

  test('an unknown mailbox, and a mail too large, are refused as such', async () => {
    const contact = { type: 'email', value: 'unknown@example.com' } as const
    expect((await send({ contact })).outcome).toMatchObject({
      outcome: 'rejected',
      fault: 'recipient',
      providerStatus: 550,
      providerCode: '5.1.1',
    })
    const mediaContent = Buffer.alloc(24 * 1024 * 1024, 'x')
    const message: Message = { type: 'media', media: { mediaType: 'document' } }
    expect((await send({ message, mediaContent })).outcome).toMatchObject({
      outcome: 'rejected',
      fault: 'message',
    })
  })

  const connects = async () => (await server.log()).match(/smtpd\[\d+\]: connect from/g)?.length ?? 0

  test('twenty mails one after the other need one connection', async () => {
    const before = await connects()
    for (let mail = 0; mail < 20; mail++) expect((await send()).outcome.outcome).toBe('sent')
    expect((await connects()) - before).toBe(1)
  })

  test('a connection that the server has ended costs no attempt', async () => {
    provider = createSmtpSender(media, {}, openSmtpConnections({ longestIdleMs: 60_000, maxMails: 100 }))
    expect((await send()).outcome.outcome).toBe('sent')
    const ended = async () => (await server.log()).match(/timeout after END-OF-MESSAGE/g)?.length ?? 0
    const before = await ended()
    await eventually('the server ends the connection', async () => (await ended()) > before)
    expect((await send()).outcome.outcome).toBe('sent')
    await provider.close?.()
  })

  test('of mails at the same time, each arrives once', async () => {
    const sent = await Promise.all(Array.from({ length: 50 }, () => send()))
    expect(new Set(sent.map(({ outcome }) => outcome.outcome))).toEqual(new Set(['sent']))
    const count = async (id: string) => (await server.mails()).filter((mail) => mail.includes(id)).length
    for (const { requestId } of sent) {
      await eventually('it has arrived', async () => (await count(requestId)) > 0)
      expect(await count(requestId)).toBe(1)
    }
  })
})
