import { expect, test } from 'vitest'
import { sendRequestSchemas } from '../../../../src/core/sends/send-request.ts'
import { twilio } from '../../../../src/providers/twilio/index.ts'
import { webhook } from '../../../../src/providers/webhook/index.ts'
import { webhookSecret } from '../../../support/webhook-receiver.ts'

const url = 'https://bücher.example/ü'
const contact = { value: '+4915112345678' }
const message = { type: 'media', media: { mediaType: 'image', mediaUrl: url } }
const account = { accountSid: `AC${'0a'.repeat(16)}`, authToken: 'token', from: '+15550100100' }

/** Often enough that Node.js compiles the function, which may then behave differently. */
const times = 20_000

test.each([
  ['mediaUrl', sendRequestSchemas([]).channelInPath, { contact, message }],
  ["webhook's url", webhook.config, { url, secret: webhookSecret }],
  ['baseUrl', twilio.config, { ...account, baseUrl: url }],
])(
  'a %s that holds letters beyond ASCII stays a URL, however many were checked before',
  (_field, schema, value) => {
    let refused = 0
    for (let time = 0; time < times; time++) if (!schema.safeParse(value).success) refused++
    expect(refused).toBe(0)
  },
)
