import type { ProviderRules } from '../../../core/channels/provider.ts'
import { contactKinds, defaultContactType } from '../../../core/contacts/contact.ts'
import type { MailFields } from '../../../core/messages/mail.ts'
import type { MediaDescription, Message } from '../../../core/messages/message.ts'
import { mediaTypes } from '../../../core/messages/message.ts'
import { templateIssues } from '../../../core/messages/template.ts'
import { sendIssue } from '../../../core/sends/send-issue.ts'
import type { Delivery } from '../../delivery.ts'
import type { FileConfig } from '../request/holes.ts'

/** Texts that break what is put together as text. */
const hostile = [
  '"}],"to":"+15550100199","x":[{"',
  "'; --",
  'a&to=%2B15550100199&b=c',
  'line\r\nX-Header: 1\r\n\r\nbody',
  '--boundary\r\ncontent-disposition: form-data; name="to"\r\n\r\n1',
  '{{name}} {$: config.apiKey} $1 %s \\u0022 \\',
  '</text><to>1</to>',
  '\u2028\u2029\u202e\ufeff',
  'Grüße 👋🏽 e\u0301',
]

/** The messages of a check: the same each time, so that a check that passed does so again. */
export function sampleMessages(
  rules: ProviderRules,
  config: FileConfig,
  count = 100,
): Delivery<FileConfig>[] {
  const random = randomNumbers(count)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const text = (max: number) =>
    [...pick([...hostile, '😀'.repeat(max), 'x'.repeat(max), `${pick(hostile)}${pick(hostile)}`])]
      .slice(0, max)
      .join('')

  const builders: Record<string, () => { message: Message; content?: Buffer }> = {
    text: () => ({ message: { type: 'text', text: { value: text(rules.maxTextCharacters) } } }),
    template: () => {
      const isMail = rules.contactTypes.includes('email')
      const definition = isMail
        ? { subject: 'Hello {{name}}', text: '{{name}}', ...(random() < 0.5 && { html: '<b>{{name}}</b>' }) }
        : { text: pick(['Hello {{name}}', '{{name}}']) }
      const filled = isMail ? text(200).replace(/\p{Cc}/gu, ' ') : text(200)
      const value = random() < 0.2 ? '' : filled
      return {
        message: {
          type: 'template',
          template: { name: 'welcome', variables: [{ key: 'name', value }], definition },
        },
      }
    },
    media: () => {
      const mediaType = pick(mediaTypes)
      const [type = 'application/pdf'] = rules.media?.[mediaType]?.mimetypes ?? []
      const hasContent = random() < 0.5
      const media: MediaDescription = {
        mediaType,
        mimetype: type,
        ...(random() < 0.5 && rules.media?.[mediaType]?.hasCaption && { caption: text(1024) }),
        ...(random() < 0.5 && { filename: 'a "b" & c.pdf' }),
        ...(hasContent ? { sizeBytes: 7 } : { mediaUrl: 'https://example.com/a%20b?c=d&e="' }),
      }
      return { message: { type: 'media', media }, ...(hasContent && { content: Buffer.from('content') }) }
    },
  }
  const line = () => pick(hostile).replace(/\p{Cc}/gu, ' ')
  const mail = () => mailOf({ random, line, text })
  const any = (_: unknown, index: number): Delivery<FileConfig> => {
    const [contactType = defaultContactType] = rules.contactTypes
    const { message, content } = builders[
      rules.messageTypes[index % rules.messageTypes.length] ?? 'text'
    ]?.() ?? {
      message: { type: 'text', text: { value: 'x' } },
    }
    // A provider that takes content alone gets what the worker has fetched.
    const fetched = message.type === 'media' && !rules.fetchesMedia ? Buffer.from('fetched') : undefined
    return {
      requestId: `01a1fde3-04b0-709e-bec0-${String(index).padStart(12, '0')}`,
      channelId: '01a1fde3-04b0-709e-bec0-b940cc7af3c0',
      contact: {
        type: contactType,
        value: contactKinds[contactType].example,
        ...(random() < 0.5 && { name: pick(hostile).replace(/\p{Cc}/gu, ' ') }),
      },
      message: rules.mail && random() < 0.5 ? { ...message, email: mail() } : message,
      mediaContent: content ?? fetched,
      attachmentContents: [Buffer.from('%PDF'), Buffer.from('\x89PNG', 'latin1')],
      flowId: null,
      reference: random() < 0.5 ? 'order "7" & more' : null,
      conversationId: '01a1fde3-04b0-709e-bec0-b940cc7af3c0',
      attempt: 1,
      expiresInMs: random() < 0.5 ? 60_000 : null,
      config,
    }
  }
  // Twice as many, because the rules refuse some.
  return Array.from({ length: count * 2 }, any)
    .filter((delivery) => isTaken(rules, delivery))
    .slice(0, count)
}

/** What a client may say of a mail: some of it. */
function mailOf({
  random,
  line,
  text,
}: {
  random: () => number
  line: () => string
  text: (max: number) => string
}): MailFields {
  const fields = {
    ...{ subject: line(), html: text(200), fromName: line(), replyTo: 'answers@example.com' },
    tags: { kind: 'order' },
    attachments: [
      { filename: line(), mimetype: 'application/pdf', sizeBytes: 4 },
      { filename: 'dot.png', mimetype: 'image/png', contentId: 'dot@example.com', sizeBytes: 4 },
    ].slice(0, 1 + Math.floor(random() * 2)),
  }
  return Object.fromEntries(Object.entries(fields).filter(() => random() < 0.5))
}

/** Whether an accept takes it. */
function isTaken(rules: ProviderRules, { contact, message }: Delivery<FileConfig>): boolean {
  if (sendIssue(rules, { contact, message, hasPublicUrl: true }) !== undefined) return false
  if (message.type !== 'template') return true
  return templateIssues(rules.template, message.template, message.template.definition).length === 0
}

/** A linear congruential generator: numbers from 0 to 1. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
