import { ann, defineEmulation, sentAtOnce } from '../../shared/dev/emulation.ts'
import { startWebhookEmulator } from './emulator.ts'

export const emulation = defineEmulation({
  start: startWebhookEmulator,
  template: { text: 'Hello {{name}}' },
  examples: ({ taken }) => [
    {
      ...sentAtOnce,
      title: 'A text by webhook',
      contact: ann,
      message: { type: 'text', text: { value: 'Hello from a webhook' } },
      received: (requestId) => JSON.stringify(taken.get(requestId)?.message),
    },
  ],
})
