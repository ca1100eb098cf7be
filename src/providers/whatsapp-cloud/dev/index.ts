import { ann, defineEmulation, sentAtOnce } from '../../shared/dev/emulation.ts'
import { openWhatsAppEmulator } from './emulator.ts'

export const emulation = defineEmulation({
  start: openWhatsAppEmulator,
  template: { language: 'en', parameters: ['name'] },
  examples: ({ calls }) => [
    {
      ...sentAtOnce,
      title: 'A text, delivered and read, by whatsapp-cloud',
      delivery: 'read',
      contact: ann,
      message: { type: 'text', text: { value: 'Hello from WhatsApp' } },
      received: (requestId) =>
        JSON.stringify(calls.find(({ message }) => message?.biz_opaque_callback_data === requestId)?.message),
    },
  ],
})
