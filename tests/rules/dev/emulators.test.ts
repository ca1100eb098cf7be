import { expect, test } from 'vitest'
import { keep } from '../../../src/providers/shared/dev/emulator.ts'
import { startTwilioEmulator } from '../../../src/providers/twilio/dev/emulator.ts'
import { startWebhookEmulator } from '../../../src/providers/webhook/dev/emulator.ts'
import { openWhatsAppEmulator } from '../../../src/providers/whatsapp-cloud/dev/emulator.ts'

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
    const calls = emulator.calls as unknown[]
    const before = Array.from({ length: 999 }, () => ({}))
    calls.push(...before)
    for (let at = 0; at < 3; at++) {
      const response = await fetch(String(emulator.config[urlField]), { method: 'POST', body: `${at}` })
      await response.arrayBuffer()
    }
    expect(calls).toHaveLength(1000)
    expect(calls[0]).toBe(before[2])
    expect(before).not.toContain(calls[997])
  } finally {
    await emulator.stop()
  }
})
