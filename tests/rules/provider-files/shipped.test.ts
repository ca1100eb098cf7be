import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../../src/core/messages/message.ts'
import { templateIssues } from '../../../src/core/messages/template.ts'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import { sendIssue } from '../../../src/core/sends/send-issue.ts'
import { checkFile, requestOf } from '../../../src/providers/files/check/check-file.ts'
import { checkContext } from '../../../src/providers/files/check/context.ts'
import { shapeOf } from '../../../src/providers/files/check/requests.ts'
import type { CompiledFile } from '../../../src/providers/files/compile.ts'
import { answerOf, openFileEmulator } from '../../../src/providers/files/dev/emulator.ts'
import { fieldsOfProof } from '../../../src/providers/files/reading/proofs.ts'
import { fileOf } from '../../../src/providers/known.ts'
import type { EmulatedAnswer } from '../../../src/providers/shared/dev/http-emulator.ts'
import { piecesOf } from '../../../src/providers/shared/http/http-body.ts'
import type { HttpCall } from '../../../src/providers/shared/http/http-call.ts'
import { shippedNames, shippedText } from '../../../src/providers/shipped.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'
import { describeProvider, type FakeServer } from '../providers/contract.ts'

/** The files whose vendor takes no message without a text; those of mails and of MMS have other contents. */
const needText = ['africas-talking', 'bird', 'bulksms', 'clicksend', 'gupshup', 'infobip', 'msg91', 'sinch']

const loopback = [parseNetwork('127.0.0.0/8')]

function shipped(name: string): CompiledFile {
  const file = fileOf(name)
  if (!file) throw new Error(`${name} is no file`)
  return file
}

test.each(shippedNames)(
  'the file of %s keeps the contract, as outbound provider check says it',
  async (name) => {
    expect(await checkFile(shippedText(name))).toMatchObject({
      file: { form: { name } },
      checked: { messages: 100 },
    })
  },
)

test.each(shippedNames)('the file of %s knows at least ten codes, if the vendor has codes', (name) => {
  const { form, provider } = shipped(name)
  const known = Object.keys(provider.codes ?? {}).length + Object.keys(provider.otherCodes ?? {}).length
  expect(known >= 10 || form.guessed?.some((text) => text.includes('no codes'))).toBe(true)
})

test.each([
  ['africas-talking', '{"SMSMessageData":{"Message":"InvalidSenderId","Recipients":[]}}'],
  ['postmark', '{}'],
  ['infobip', '{"messages":[]}'],
  ['clicksend', '{"data":{"messages":[]}}'],
])(
  'a 2xx of %s that does not say whether the message was accepted is not taken for sent: %s',
  (name, body) => {
    const { provider } = shipped(name)
    const { read } = provider.call as HttpCall<Record<string, string>>
    const answer = { kind: 'answer', status: 200, headers: {}, body, isWhole: true } as never
    expect(read(answer)).toMatchObject({
      isRefused: true,
      failure: { outcome: 'uncertain' },
    })
  },
)

describe.each(shippedNames)('%s', (name) => {
  const file = shipped(name)
  const { form, provider: rules } = file
  const definition = form.contacts.includes('email')
    ? { subject: 'Hello', text: 'Hello {{name}}' }
    : { text: 'Hello {{name}}' }

  function answersOf(behaviour: FakeServer): EmulatedAnswer[] {
    switch (behaviour) {
      case 'accept':
        return []
      case 'reject':
        return [answerOf(form, 'rejected')]
      case 'fail_for_a_while':
        return [{ status: 503 }]
      case 'limit_rate':
        return [{ status: 429, headers: { 'retry-after': '2' } }]
      case 'drop_after_taking':
        return ['drop']
      case 'never_answer':
        return ['never_answer']
      default:
        return behaviour satisfies never
    }
  }

  describeProvider(name, async () => {
    const emulator = await openFileEmulator(file)
    const http = createHttpClient({ allowedPrivateNetworks: loopback })
    const media = createMediaFetcher({ allowedPrivateNetworks: loopback })
    const sender = httpSender(rules as never, http)
    let before = 0
    return {
      provider: rules.takesContent ? { ...sender, media } : sender,
      goodConfig: form.examples.config,
      badConfig: { ...form.examples.config, unknown: 'x' },
      templates: [definition],
      async arrange(behaviour, delivery) {
        emulator.answerNext(...answersOf(behaviour))
        before = emulator.calls.length
        const { message } = delivery
        const registered: Message =
          message.type === 'template'
            ? { type: 'template', template: { definition, ...message.template } }
            : message
        const fetched = rules.takesContent && message.type === 'media' ? Buffer.from('fetched') : undefined
        const config = rules.config.parse(emulator.config)
        return { ...delivery, message: registered, config, mediaContent: delivery.mediaContent ?? fetched }
      },
      taken: async () => emulator.calls.slice(before),
      async stop() {
        await emulator.stop()
        await http.close()
        await media.close()
      },
    }
  })

  test('what a client says of a mail is sent, or refused', () => {
    const config = rules.config.parse(form.examples.config)
    const email = { subject: 'Your "order"', fromName: 'Ann "A" Example', replyTo: 'answers@example.com' }
    const delivery = buildDelivery(rules, config)
    const message = { ...delivery.message, email }
    const issue = sendIssue(rules, { contact: delivery.contact, message, hasPublicUrl: true })
    if (!form.contacts.includes('email')) return expect(issue).toBe('email: this channel sends no mail')
    expect(issue).toBeUndefined()
    const { body } = file.request({ ...delivery, message } as never, checkContext)
    for (const text of ['order', 'answers@example.com', 'Example']) expect(String(body)).toContain(text)
  })

  test('a receipt is proven by the secret of the channel alone, and whatever comes, reading it never throws', async () => {
    const { receipts } = rules
    if (!receipts) return
    const config = rules.config.parse(form.examples.config)
    const needed = fieldsOfProof(form.receipts?.proof as never).filter((field) => form.config[field]?.secret)
    const others = needed.map((field) => ({ ...config, [field]: `${config[field]}x` }))
    const given = (form.examples.receipts ?? []).map(
      (example) => [example, requestOf(file, example)] as const,
    )
    for (const [{ proven }, request] of given) {
      if (proven) {
        expect(receipts.isProven(request, config)).toBe(true)
        for (const other of others) expect(receipts.isProven(request, other)).toBe(false)
        const bare = { ...request, headers: {}, target: '/receipts/1', body: Buffer.from('{}') }
        expect(receipts.isProven(bare, config)).toBe(false)
      }
      const text = request.body.toString()
      const changed = fc
        .record({
          at: fc.nat(text.length),
          cut: fc.nat(40),
          put: fc.oneof(fc.string(), fc.json(), fc.constant('\0')),
        })
        .map(({ at, cut, put }) => text.slice(0, at) + put + text.slice(at + cut))
      await fc.assert(
        fc.asyncProperty(fc.oneof(changed, fc.json(), fc.string()), async (body) => {
          const hostile = { ...request, body: Buffer.from(body) }
          receipts.isProven(hostile, config)
          await receipts.read(hostile, config)
        }),
        { numRuns: 50 },
      )
    }
    expect(receipts.isProven({ headers: {}, target: '/', body: Buffer.from('{}') } as never, {})).toBe(false)
  })

  test('a mail with html, an inline picture, a PDF, a reply address and a tag is sent whole, or what has no place is refused', () => {
    if (!form.contacts.includes('email')) return
    const config = rules.config.parse(form.examples.config)
    const delivery = buildDelivery(rules, config)
    const [pdf, dot] = [Buffer.from('%PDF-1.7 "x"'), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a])]
    const [attached, inline] = [
      { filename: 'invoice "1".pdf', mimetype: 'application/pdf', sizeBytes: pdf.length },
      { filename: 'dot.png', mimetype: 'image/png', contentId: 'dot', sizeBytes: dot.length },
    ]
    const issueWith = (attachments: object[]) => {
      const email = { attachments } as Message['email']
      return sendIssue(rules, { ...delivery, message: { ...delivery.message, email }, hasPublicUrl: true })
    }
    expect(issueWith([attached])).toBeUndefined()
    const mayBeInline = name !== 'brevo'
    expect(issueWith([attached, inline])).toBe(
      mayBeInline ? undefined : 'email.attachments[1].contentId: not on this channel',
    )
    const email = {
      ...{ html: '<img src="cid:dot">', replyTo: 'answers@example.com', tags: { kind: 'order' } },
      attachments: mayBeInline ? [attached, inline] : [attached],
    }
    const message = { ...delivery.message, email }
    const request = file.request(
      { ...delivery, message, attachmentContents: [pdf, dot] } as never,
      checkContext,
    )
    const body = Buffer.concat([...piecesOf(request.body)].map((piece) => Buffer.from(piece)))
    const isJson = request.headers['content-type'] === 'application/json'
    const has = (content: Buffer) => body.includes(isJson ? content.toString('base64') : content)
    expect([has(pdf), has(dot)]).toEqual([true, mayBeInline])
    for (const text of ['answers@example.com', 'kind:order', 'cid:dot', 'invoice'])
      expect(body.includes(text)).toBe(true)
    if (!isJson)
      expect(body.toString()).toContain('name="inline"; filename="dot"\r\ncontent-type: image/png\r\n')
  })

  test('a message without the text that the file needs is refused without a call, in words of the client; other files call', async () => {
    const calls: unknown[] = []
    const post = async (request: unknown) => {
      calls.push(request)
      return { kind: 'answer', status: 200, headers: {}, body: '{}', isWhole: true } as never
    }
    const config = rules.config.parse(form.examples.config)
    const empty = buildDelivery(rules, config, { message: { type: 'text', text: { value: '' } } })
    const { signal } = new AbortController()
    const outcome = await httpSender(rules as never, { post }).send(empty as never, signal, () => {})
    if (!needText.includes(name)) return expect(calls).toHaveLength(1)
    expect(calls).toEqual([])
    expect(outcome).toEqual({
      outcome: 'rejected',
      fault: 'message',
      reason: 'the text of the message is empty',
    })
  })

  test('a template that leaves the message empty is refused at accept; a mail may have HTML alone, unless the file needs a text', () => {
    const empty = 'message.template.variables: the text of the message would be empty'
    const issuesWith = (value: string, more: object = {}) =>
      templateIssues(
        rules.template,
        { variables: [{ key: 'name', value }] },
        { ...definition, text: '{{name}}', ...more },
      )
    expect(issuesWith('Ann')).toEqual([])
    expect(issuesWith('')).toEqual([empty])
    if (rules.contactTypes.includes('email'))
      expect(issuesWith('', { html: '<hr>' })).toEqual(needText.includes(name) ? [empty] : [])
  })

  test('no text of a client changes a byte of the structure of the request', () => {
    const config = rules.config.parse(form.examples.config)
    const shapeWith = (value: string, contactName: string, reference: string) => {
      const delivery = buildDelivery(rules, config, { reference, message: { type: 'text', text: { value } } })
      const named = { ...delivery, contact: { ...delivery.contact, name: contactName } }
      return shapeOf(file.request(named as never, checkContext))
    }
    const nasty = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.constantFrom(
        '"',
        "'",
        '\n',
        '\r\n',
        '}',
        '&',
        '=',
        '\0',
        '\\',
        '%',
        '--',
        '<',
        '{$: config.apiKey}',
      ),
      fc.constant('😀'.repeat(4096)),
    )
    const texts = fc
      .array(nasty, { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join('').toWellFormed())
      .filter((text) => text !== '')
    fc.assert(
      fc.property(texts, texts, texts, (text, contactName, reference) => {
        expect(shapeWith(text, contactName, reference)).toBe(shapeWith('x', 'x', 'x'))
      }),
      { numRuns: 100 },
    )
  })
})
