import { expect, test } from 'vitest'
import { keep } from '../../../src/dev/emulators/emulator.ts'
import { startTwilioEmulator } from '../../../src/dev/emulators/twilio.ts'
import { startWebhookEmulator } from '../../../src/dev/emulators/webhook.ts'
import { openWhatsAppEmulator } from '../../../src/dev/emulators/whatsapp.ts'

test('the last 1000 are kept, in their order', () => {
  const kept: number[] = []
  for (let item = 1; item <= 1005; item++) keep(kept, item)
  expect(kept).toHaveLength(1000)
  expect([kept[0], kept.at(-1)]).toEqual([6, 1005])
})

test.each([
  ['twilio', () => startTwilioEmulator(), 'baseUrl'],
  ['webhook', startWebhookEmulator, 'url'],
  ['whatsapp-cloud', openWhatsAppEmulator, 'baseUrl'],
] as const)('the emulator of %s keeps no more calls than that', async (_, start, urlField) => {
  const emulator = await start()
  try {
    const call = async (path: string) => {
      const response = await fetch(String(emulator.config[urlField]), { method: 'POST', body: path })
      await response.arrayBuffer()
    }
    for (let at = 0; at < 21; at++)
      await Promise.all(Array.from({ length: 50 }, (_, i) => call(`${at}-${i}`)))
    expect(emulator.calls).toHaveLength(1000)
  } finally {
    await emulator.stop()
  }
})
