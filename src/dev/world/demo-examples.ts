import type { DeliveryState } from '../../core/receipts/receipt.ts'
import type { SendStatus } from '../../core/sends/timeline.ts'
import type { Emulators } from './emulators.ts'
import type { EmulatedChannels } from './seed.ts'

/** A send of the demo, and its expected end. */
export interface Example {
  title: string
  contact: object
  message: object
  ends: SendStatus
  attempts: number
  /** Reported after the end. Default: not waited for. */
  delivery?: DeliveryState
  /** Default: the sandbox channel. */
  channelId?: string
  /** Describes what the emulator received of the send, on one line; undefined if it received nothing. */
  received?(requestId: string): string | undefined
}

const onePixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const sandboxExamples: Example[] = [
  {
    title: 'A text',
    contact: { value: '+49 151 12345678', name: 'Ann Example' },
    message: { type: 'text', text: { value: 'Hello Ann' } },
    ends: 'sent',
    attempts: 1,
  },
  {
    title: 'A template',
    contact: { value: 'ann@example.com', type: 'email' },
    message: { type: 'template', template: { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] } },
    ends: 'sent',
    attempts: 1,
  },
  {
    title: 'Media, after closing the open conversation',
    contact: { value: '+49 151 12345678' },
    message: {
      type: 'media',
      media: { mediaType: 'image', base64: onePixelPng, filename: 'dot.png', caption: 'A dot' },
      closeConversation: true,
    },
    ends: 'sent',
    attempts: 1,
  },
  {
    title: 'A text that goes through at the third attempt',
    contact: { value: '+1 555 010 0102' },
    message: { type: 'text', text: { value: 'Third time lucky' } },
    ends: 'sent',
    attempts: 3,
  },
  {
    title: 'A text that the provider refuses',
    contact: { value: '+1 555 010 0103' },
    message: { type: 'text', text: { value: 'Nobody will read this' } },
    ends: 'failed',
    attempts: 1,
  },
]

const once = { ends: 'sent', attempts: 1 } as const

const ann = { value: '+49 151 12345678', name: 'Ann Example' }

/** One send through each provider, to its emulator. */
export function providerExamples(channels: EmulatedChannels, emulators: Emulators): Example[] {
  return [
    whatsAppExample(channels['whatsapp-cloud'], emulators['whatsapp-cloud']),
    twilioExample(channels.twilio, emulators.twilio),
    smtpExample(channels.smtp, emulators.smtp),
    bouncedExample(channels.smtp),
    webhookExample(channels.webhook, emulators.webhook),
    resendExample(channels.resend, emulators.resend),
    vonageExample(channels.vonage, emulators.vonage),
  ]
}

function whatsAppExample(channelId: string, { calls }: Emulators['whatsapp-cloud']): Example {
  return {
    ...once,
    title: 'A text, delivered and read, by whatsapp-cloud',
    delivery: 'read',
    channelId,
    contact: ann,
    message: { type: 'text', text: { value: 'Hello from WhatsApp' } },
    received: (requestId) =>
      JSON.stringify(calls.find(({ message }) => message?.biz_opaque_callback_data === requestId)?.message),
  }
}

function twilioExample(channelId: string, { calls, fetched }: Emulators['twilio']): Example {
  return {
    ...once,
    title: 'Media, fetched from this service, by twilio',
    channelId,
    contact: ann,
    message: {
      type: 'media',
      media: { mediaType: 'image', base64: onePixelPng, filename: 'dot.png', caption: 'A dot from Twilio' },
    },
    received(requestId) {
      const call = calls.find(({ form }) => form.MediaUrl?.includes(requestId))
      const media = fetched.find(({ url, method }) => method === 'GET' && url.includes(requestId))
      if (!call || media?.status !== 200) return undefined
      return `To=${call.form.To} Body=${call.form.Body}, and fetched ${media.content.length} bytes of ${media.contentType}`
    },
  }
}

function smtpExample(channelId: string, { calls }: Emulators['smtp']): Example {
  return {
    ...once,
    title: 'A document, attached to a mail, by smtp',
    channelId,
    contact: { value: 'ann@example.com', type: 'email', name: 'Ann Example' },
    message: {
      type: 'media',
      media: {
        mediaType: 'document',
        base64: Buffer.from('All is well.').toString('base64'),
        mimetype: 'text/plain',
        filename: 'news.txt',
        caption: 'Hello from a mail',
      },
    },
    received(requestId) {
      const { mail } = calls.find(({ mail }) => mail?.headers['message-id']?.includes(requestId)) ?? {}
      const attached = mail?.parts.at(-1)
      if (!mail || !attached) return undefined
      const { to, subject } = mail.headers
      return `To: ${to}, Subject: ${subject}, ${attached.headers['content-disposition']}: ${attached.content}`
    },
  }
}

function bouncedExample(channelId: string): Example {
  return {
    ...once,
    title: 'A mail that bounces after its server took it',
    delivery: 'undelivered',
    channelId,
    contact: { value: 'bounces@example.com', type: 'email' },
    message: { type: 'text', text: { value: 'Nobody lives here' } },
  }
}

function webhookExample(channelId: string, { taken }: Emulators['webhook']): Example {
  return {
    ...once,
    title: 'A text by webhook',
    channelId,
    contact: ann,
    message: { type: 'text', text: { value: 'Hello from a webhook' } },
    received: (requestId) => JSON.stringify(taken.get(requestId)?.message),
  }
}

function resendExample(channelId: string, { calls }: Emulators['resend']): Example {
  return {
    ...once,
    title: 'A text, as a mail, delivered by resend',
    delivery: 'delivered',
    channelId,
    contact: { value: 'ann@example.com', type: 'email', name: 'Ann Example' },
    message: { type: 'text', text: { value: 'Hello from Resend' } },
    received(requestId) {
      const { mail } = calls.find(({ headers }) => headers['idempotency-key'] === requestId) ?? {}
      return mail && `To: ${mail.to}, Subject: ${mail.subject}, ${mail.text}`
    },
  }
}

function vonageExample(channelId: string, { calls }: Emulators['vonage']): Example {
  return {
    ...once,
    title: 'A text, delivered and read, by vonage',
    delivery: 'read',
    channelId,
    contact: ann,
    message: { type: 'text', text: { value: 'Hello from Vonage' } },
    received: (requestId) =>
      JSON.stringify(calls.find(({ message }) => message?.client_ref === requestId)?.message),
  }
}
