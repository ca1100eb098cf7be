import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import { twilio as twilioRules } from '../../../src/providers/twilio/index.ts'
import { whatsappCloud as whatsappRules } from '../../../src/providers/whatsapp-cloud/index.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import type { Sender } from '../../../workers/providers/sender.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { httpSender } from '../../support/http-sender.ts'
import {
  answerRawAndClose,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../../support/webhook-receiver.ts'

const http = createHttpClient({ allowedPrivateNetworks: [parseNetwork('127.0.0.0/8')] })
let receiver: WebhookReceiver
beforeAll(async () => {
  receiver = await openWebhookReceiver()
})
afterAll(async () => {
  await receiver.stop()
  await http.close()
})

const codes = {
  twilio: {
    rules: twilioRules,
    provider: httpSender(twilioRules, http),
    body: '{"code":14107,',
  },
  'whatsapp-cloud': {
    rules: whatsappRules,
    provider: httpSender(whatsappRules, http),
    body: '{"error":{"code":131056,',
  },
}
const credentials = {
  twilio: { accountSid: `AC${'0a'.repeat(16)}`, authToken: 't0ken', from: '+15550100100' },
  'whatsapp-cloud': { phoneNumberId: '1', accessToken: 't0ken' },
}

async function outcomeOf(name: keyof typeof codes, status: string) {
  const { rules, provider, body } = codes[name]
  const head = `HTTP/1.1 ${status}\r\ncontent-length: 500\r\n\r\n`
  const baseUrl = receiver.at(answerRawAndClose(head + body))
  const config = rules.config.parse({ ...credentials[name], baseUrl })
  const delivery = buildDelivery(rules, config)
  return await (provider as Sender).send(delivery, AbortSignal.timeout(100_000))
}

test.each(['twilio', 'whatsapp-cloud'] as const)(
  'a refusal that is cut off, and with it its code, is tried again: %s',
  async (name) => {
    expect(await outcomeOf(name, '400 Bad Request')).toMatchObject({
      outcome: 'retry_later',
      providerStatus: 400,
    })
  },
)

test.each(['twilio', 'whatsapp-cloud'] as const)(
  'a success that is cut off is sent, a refused credential holds: %s',
  async (name) => {
    expect(await outcomeOf(name, '200 OK')).toMatchObject({ outcome: 'sent' })
    expect(await outcomeOf(name, '401 Unauthorized')).toMatchObject({ outcome: 'channel_refused' })
  },
)
