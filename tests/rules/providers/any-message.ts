import fc from 'fast-check'
import type { ProviderRules } from '../../../src/core/channels/provider.ts'
import type { MailFields } from '../../../src/core/messages/mail.ts'
import { mailFields } from '../../../src/core/messages/mail-body.ts'
import {
  type MediaDescription,
  type Message,
  type MessageType,
  mediaTypes,
} from '../../../src/core/messages/message.ts'
import { variableIssues } from '../../../src/core/messages/template.ts'
import { sendIssue } from '../../../src/core/sends/send-issue.ts'

/** A message that a provider's rules accept, and its content if it came as base64. */
export interface AnyMessage {
  message: Message
  content: Buffer | undefined
}

/** Texts that break naive encodings, and one as long as allowed. */
const texts = (max: number) =>
  fc.oneof(
    fc.string({ minLength: 1, maxLength: Math.min(60, max), unit: 'grapheme' }),
    fc.constantFrom('x'.repeat(max), '👋'.repeat(max), 'Grüße & <b>"1"</b>=%20\n\t\\'.slice(0, max)),
  )
const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0')
const isOneLine = (text: string) =>
  isStorable(text) && !/[\p{Cc}/\\]/u.test(text) && text !== '.' && text !== '..'
const isOnOneLine = (text: string) => isStorable(text) && !/\p{Cc}/u.test(text)
const content = Buffer.from('the content of a file')
const filenames = fc.constantFrom('report.pdf', 'Setup.EXE', 'run.js', 'exe', '.ps1', 'a.exe.txt')
const links = fc.constantFrom('https://example.com/file', 'https://example.com/a%20b?c=d&e=%20#f')
const otherTypes = ['text/csv; charset=utf-8', 'application/zip']

/**
 * Any message that the rules accept: what the API takes, less what they refuse.
 *
 * @param definitions of registered templates; undefined is for one that isn't registered.
 */
export function anyMessage(
  rules: ProviderRules,
  definitions: readonly (object | undefined)[],
): fc.Arbitrary<AnyMessage> {
  const types: Record<MessageType, () => fc.Arbitrary<AnyMessage>> = {
    text: () =>
      texts(rules.maxTextCharacters).map((value) => ({
        message: { type: 'text', text: { value } },
        content: undefined,
      })),
    media: () => anyMedia(rules),
    template: () => fc.constantFrom(...definitions).chain((definition) => anyTemplate(rules, definition)),
  }
  const contact = { type: rules.mail ? 'email' : (rules.contactTypes[0] ?? 'phone'), value: '' } as const
  return fc
    .constantFrom(...rules.messageTypes)
    .chain((type) => types[type]())
    .chain((any) => (rules.mail ? fc.option(anyMail(any), { nil: any }) : fc.constant(any)))
    .filter(({ message }) => sendIssue(rules, { contact, message, hasPublicUrl: true }) === undefined)
}

const inHeader = fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/)
const inTag = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/).filter((text) => text !== '__proto__')

/** What a client may say of a mail, as the API takes it. */
export const anyMailFields: fc.Arbitrary<MailFields> = fc
  .record(
    {
      subject: texts(998).filter(isOnOneLine),
      html: texts(2000).filter(isStorable),
      fromName: texts(256).filter(isOnOneLine),
      replyTo: fc.constantFrom('help@example.com', "o'neil+x@Example.com"),
      headers: fc
        .dictionary(fc.stringMatching(/^[Xx]-[A-Za-z0-9-]{1,20}$/), inHeader, { maxKeys: 3 })
        .map((headers) => ({ ...headers, References: '<a@example.com> <b@example.com>' })),
      tags: fc.dictionary(inTag, inTag, { maxKeys: 3 }),
    },
    { requiredKeys: [] },
  )
  // The schema says the rest, such as that a header is given once.
  .filter((fields) => mailFields([]).safeParse(fields).success)

const anyMail = ({ message, content }: AnyMessage): fc.Arbitrary<AnyMessage> =>
  anyMailFields.map(({ html, ...others }) => {
    const email = message.type === 'text' ? { html, ...others } : others
    return { message: { ...message, email }, content }
  })

function anyMedia(rules: ProviderRules): fc.Arbitrary<AnyMessage> {
  return fc
    .constantFrom(...mediaTypes)
    .chain((mediaType) => {
      const { mimetypes = [], base64Mimetypes = [] } = rules.media?.[mediaType] ?? {}
      return fc.record(
        {
          mediaType: fc.constant(mediaType),
          mimetype: fc.constantFrom(...mimetypes, ...base64Mimetypes, ...otherTypes),
          filename: fc.oneof(texts(40).filter(isOneLine), filenames),
          caption: texts(1024).filter(isStorable),
          mediaUrl: links,
          sizeBytes: fc.constant(content.length),
        },
        { requiredKeys: ['mediaType'] },
      )
    })
    .filter(({ mediaUrl, sizeBytes }) => mediaUrl !== undefined || sizeBytes !== undefined)
    .map((media: MediaDescription) => ({
      message: { type: 'media', media },
      content: media.sizeBytes === undefined ? undefined : content,
    }))
}

function anyTemplate(rules: ProviderRules, definition: object | undefined): fc.Arbitrary<AnyMessage> {
  const needed = definition && rules.template.variablesOf(definition)
  const keys = needed
    ? fc.constant(needed)
    : fc.uniqueArray(fc.stringMatching(/^[A-Za-z]\w{0,9}$/), { maxLength: 4 })
  const values = fc.oneof(
    texts(1600).filter(isStorable),
    links,
    fc.constantFrom('123456', 'orders/7', '25OFF'),
  )
  return keys
    .chain((list) => fc.tuple(...list.map((key) => fc.record({ key: fc.constant(key), value: values }))))
    .map((variables) => ({
      message: { type: 'template', template: { name: 'welcome', variables, definition } } as Message,
      content: undefined,
    }))
    .filter(({ message }) => {
      if (message.type !== 'template') return false
      const { variables } = message.template
      const valueIssue = (variable: (typeof variables)[number]) =>
        rules.template.valueIssue?.(variable, definition)
      return variableIssues(needed, variables, valueIssue).length === 0
    })
}
