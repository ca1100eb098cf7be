import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MailFields } from '../../../src/core/messages/mail.ts'
import type { Message } from '../../../src/core/messages/message.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { ResendConfig } from '../../../src/providers/resend/config.ts'
import { resend } from '../../../src/providers/resend/index.ts'
import { requestFor as resendRequest } from '../../../src/providers/resend/request.ts'
import type { EncodedBody } from '../../../src/providers/shared/http/http-body.ts'
import type { SmtpConfig } from '../../../src/providers/smtp/config.ts'
import { type MailPart, parseMail } from '../../../src/providers/smtp/dev/mail-part.ts'
import { smtp } from '../../../src/providers/smtp/index.ts'
import { composeMail } from '../../../src/providers/smtp/mail.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { samples } from '../../support/media-samples.ts'
import { anyMailFields } from './any-message.ts'

const channel = {
  host: '127.0.0.1',
  from: 'Acme <hello@example.org>',
  replyTo: 'Help <help@example.org>',
  headers: { 'X-Shop': 'Acme', 'List-Unsubscribe': '<https://example.org/u?m={requestId}>' },
}

const text = { type: 'text', text: { value: 'Hello' } } as const

function deliver(email: MailFields, message: Message = text): Delivery<SmtpConfig> {
  const config = smtp.config.parse(channel)
  return buildDelivery(smtp, config, { message: { ...message, email }, config }) as Delivery<SmtpConfig>
}

async function rawOf(delivery: Delivery<SmtpConfig>): Promise<string> {
  const mail = composeMail(delivery)
  if ('outcome' in mail) throw new Error(JSON.stringify(mail))
  const pieces: Buffer[] = []
  for await (const piece of mail.read()) pieces.push(piece)
  return Buffer.concat(pieces).toString('latin1')
}

const mailOf = async (email: MailFields, message: Message = text) =>
  parseMail(Buffer.from(await rawOf(deliver(email, message)), 'latin1'))

/** The content of the first part of this type. */
function partOf(mail: MailPart, type: string): string | undefined {
  if (mail.headers['content-type']?.startsWith(type)) return mail.content.toString()
  for (const part of mail.parts) {
    const found = partOf(part, type)
    if (found !== undefined) return found
  }
  return undefined
}

const namesOf = (raw: string) =>
  (raw.split('\r\n\r\n')[0] ?? '')
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
    .map((line) => line.slice(0, line.indexOf(':')).toLowerCase())

/** The line breaks of mail. All others of a text are its own characters. */
const inMail = (given: string) => given.replace(/\r?\n/g, '\r\n')

describe('smtp', () => {
  test('no header, name or subject adds a line or another header, and none is lost', async () => {
    const own = namesOf(await rawOf(deliver({ html: '<p>1</p>' })))
    await fc.assert(
      fc.asyncProperty(anyMailFields, async (email) => {
        const raw = await rawOf(deliver({ html: '<p>1</p>', ...email }))
        const given = Object.keys(email.headers ?? {}).map((name) => name.toLowerCase())
        expect(namesOf(raw).sort()).toEqual([...new Set([...own, ...given])].sort())
        expect(raw.split('\r\n').every((line) => line.length <= 998)).toBe(true)
        const { headers } = parseMail(Buffer.from(raw, 'latin1'))
        for (const [name, value] of Object.entries(email.headers ?? {}))
          expect(headers[name.toLowerCase()]?.replace(/ /g, '')).toBe(value.replace(/ /g, ''))
        expect(headers.from).toContain('<hello@example.org>')
      }),
      { numRuns: 300 },
    )
  })

  test('html arrives as it was given, but for line breaks, which are those of mail', async () => {
    const breaks = fc.constantFrom('\n', '\r\n', '\r', ' ', '\t', '.', '=', '=20', 'From ', '<p>', 'ü', '👋')
    const html = fc.oneof(
      fc
        .array(fc.oneof(breaks, fc.string({ maxLength: 90 })), { minLength: 1 })
        .map((parts) => parts.join('')),
      fc.string({ minLength: 1, unit: 'grapheme', maxLength: 300 }),
    )
    await fc.assert(
      fc.asyncProperty(html, async (given) => {
        const arrived = partOf(await mailOf({ html: given }), 'text/html')
        expect(inMail(arrived ?? '')).toBe(inMail(given))
      }),
      { numRuns: 500 },
    )
  })

  test('a subject of 998 characters arrives whole, in one word or in many, and one of spaces as well', async () => {
    for (const subject of [' ', '\u00a0', 'x'.repeat(998), 'ü'.repeat(998), 'a b '.repeat(249).trim()])
      expect((await mailOf({ subject })).headers.subject).toBe(subject)
  })

  test('the fields of a mail win over those of its channel and its template', async () => {
    const template: Message = {
      type: 'template',
      template: { name: 't', variables: [], definition: { subject: 'Theirs', text: 'Hi' } },
    }
    const email = {
      subject: 'Ours',
      fromName: 'Ann, "A" <x@y.de>',
      replyTo: 'ann@example.com',
      headers: { 'x-shop': 'Other', 'list-unsubscribe': '<mailto:u@example.org>' },
    }
    const { headers } = await mailOf(email, template)
    expect(headers).toMatchObject({
      subject: 'Ours',
      'reply-to': 'ann@example.com',
      'x-shop': 'Other',
      'list-unsubscribe': '<mailto:u@example.org>',
    })
    expect(headers.from).toMatch(/^"?Ann, \\"A\\" <x@y\.de>"? <hello@example\.org>$/)
    expect(headers['list-unsubscribe-post']).toBeUndefined()
    expect((await mailOf({})).headers).toMatchObject({ subject: 'Message', 'x-shop': 'Acme' })
  })

  test('text and html are alternatives, the plain one first; the Message-ID is the same at each attempt', async () => {
    const delivery = deliver({ html: '<b>Hello</b>' })
    const [first, second] = [await rawOf(delivery), await rawOf({ ...delivery, attempt: 2 })]
    const mail = parseMail(Buffer.from(first, 'latin1'))
    expect(mail.headers['content-type']).toMatch(/^multipart\/alternative/)
    expect(mail.parts.map((part) => part.headers['content-type']?.split(';')[0])).toEqual([
      'text/plain',
      'text/html',
    ])
    const id = /^Message-ID: .*$/im.exec(first)?.[0]
    expect(id).toContain(delivery.requestId)
    expect(second).toContain(id)
  })
})

const png = samples.png
const pdf = Buffer.from('%PDF-1.7\n')
const files = {
  html: '<p>Hello <img src="cid:logo"></p>',
  attachments: [
    { filename: 'logo.png', mimetype: 'image/png', contentId: 'logo', sizeBytes: png.length },
    { filename: 'Übersicht.pdf', mimetype: 'application/pdf', sizeBytes: pdf.length },
  ],
}
const attachmentContents = [png, pdf]

test('an inline file is related to the HTML, another one is attached beside it, both as they were sent', async () => {
  const mail = parseMail(Buffer.from(await rawOf({ ...deliver(files), attachmentContents }), 'latin1'))
  expect(mail.headers['content-type']).toMatch(/^multipart\/mixed/)
  const [body, attached] = mail.parts
  expect(attached?.headers).toMatchObject({
    'content-type': expect.stringMatching(/^application\/pdf/),
    'content-disposition': expect.stringMatching(/^attachment/),
  })
  expect(attached?.content).toEqual(pdf)
  const related = body?.parts[1]
  expect(body?.headers['content-type']).toMatch(/^multipart\/alternative/)
  expect(related?.headers['content-type']).toMatch(/^multipart\/related/)
  const inline = related?.parts[1]
  expect(inline?.headers).toMatchObject({
    'content-id': '<logo>',
    'content-disposition': expect.stringMatching(/^inline/),
  })
  expect(inline?.content).toEqual(png)
})

test('no mail goes without one of its files', () => {
  expect(() => composeMail({ ...deliver(files), attachmentContents: [png] })).toThrow('not fetched')
})

describe('resend', () => {
  const config = resend.config.parse({ apiKey: 're_1', from: 'Acme <hello@example.org>' })
  const requestOf = (email: MailFields) => {
    const delivery = buildDelivery(resend, config, { message: { ...text, email }, config })
    const { body } = resendRequest(delivery as Delivery<ResendConfig>)
    return { requestId: delivery.requestId, body: JSON.parse(String(body)) }
  }

  test('files are in the request as they were sent, a link as a link', () => {
    const link = { filename: 'a.pdf', url: 'https://example.com/a.pdf' }
    const email = { ...files, attachments: [...files.attachments, link] }
    const delivery = buildDelivery(resend, config, {
      message: { ...text, email },
      config,
      attachmentContents,
    })
    const { body } = resendRequest(delivery as Delivery<ResendConfig>)
    const { attachments } = JSON.parse(Buffer.concat([...(body as EncodedBody).pieces()]).toString())
    expect(attachments).toEqual([
      {
        content: png.toString('base64'),
        filename: 'logo.png',
        content_type: 'image/png',
        content_id: 'logo',
      },
      { content: pdf.toString('base64'), filename: 'Übersicht.pdf', content_type: 'application/pdf' },
      { path: link.url, filename: 'a.pdf' },
    ])
  })

  test('all fields of a mail are in the request as they were given', () => {
    fc.assert(
      fc.property(anyMailFields, (email) => {
        const { requestId, body } = requestOf(email)
        if (email.subject !== undefined) expect(body.subject).toBe(email.subject)
        expect([body.html, body.reply_to]).toEqual([email.html, email.replyTo])
        expect(body.headers).toMatchObject(email.headers ?? {})
        const tags = Object.entries(email.tags ?? {}).map(([name, value]) => ({ name, value }))
        expect(body.tags).toEqual([{ name: 'requestId', value: requestId }, ...tags])
        if (email.fromName === undefined) expect(body.from).toBe('Acme <hello@example.org>')
        else {
          const [, name = '', address] = /^"((?:[^"\\]|\\.)*)" <([^<>]*)>$/s.exec(body.from) ?? []
          expect([name.replace(/\\(.)/gs, '$1'), address]).toEqual([email.fromName, 'hello@example.org'])
        }
      }),
    )
  })
})
