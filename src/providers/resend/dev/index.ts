import { annsMail, defineEmulation, sentAtOnce } from '../../shared/dev/emulation.ts'
import { openResendEmulator } from './emulator.ts'

export const emulation = defineEmulation({
  start: openResendEmulator,
  template: { subject: 'Hello', text: 'Hello {{name}}' },
  examples: ({ calls }) => [
    {
      ...sentAtOnce,
      title: 'A text, as a mail, delivered by resend',
      delivery: 'delivered',
      contact: annsMail,
      message: { type: 'text', text: { value: 'Hello from Resend' } },
      received(requestId) {
        const { mail } = calls.find(({ headers }) => headers['idempotency-key'] === requestId) ?? {}
        return mail && `To: ${mail.to}, Subject: ${mail.subject}, ${mail.text}`
      },
    },
  ],
})
