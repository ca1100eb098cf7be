import { ann, defineEmulation, sentAtOnce } from '../../shared/dev/emulation.ts'
import { openVonageEmulator } from './emulator.ts'

export const emulation = defineEmulation({
  start: openVonageEmulator,
  template: { language: 'en', parameters: ['name'] },
  examples: ({ calls }) => [
    {
      ...sentAtOnce,
      title: 'A text, delivered and read, by vonage',
      delivery: 'read',
      contact: ann,
      message: { type: 'text', text: { value: 'Hello from Vonage' } },
      received: (requestId) =>
        JSON.stringify(calls.find(({ message }) => message?.client_ref === requestId)?.message),
    },
  ],
})
