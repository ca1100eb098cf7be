import { annsMail, defineEmulation, sentAtOnce } from '../../shared/dev/emulation.ts'
import { openSmtpEmulator } from './emulator.ts'

const document = {
  mediaType: 'document',
  base64: Buffer.from('All is well.').toString('base64'),
  mimetype: 'text/plain',
  filename: 'news.txt',
  caption: 'Hello from a mail',
}

export const emulation = defineEmulation({
  start: () => openSmtpEmulator({ isReporting: true }),
  template: { subject: 'Hello', text: 'Hello {{name}}' },
  examples: ({ calls }) => [
    {
      ...sentAtOnce,
      title: 'A document, attached to a mail, by smtp',
      contact: annsMail,
      message: { type: 'media', media: document },
      received(requestId) {
        const { mail } = calls.find(({ mail }) => mail?.headers['message-id']?.includes(requestId)) ?? {}
        const attached = mail?.parts.at(-1)
        if (!mail || !attached) return undefined
        const { to, subject } = mail.headers
        return `To: ${to}, Subject: ${subject}, ${attached.headers['content-disposition']}: ${attached.content}`
      },
    },
    {
      ...sentAtOnce,
      title: 'A mail that bounces after its server took it',
      delivery: 'undelivered',
      contact: { value: 'bounces@example.com', type: 'email' },
      message: { type: 'text', text: { value: 'Nobody lives here' } },
    },
  ],
})
