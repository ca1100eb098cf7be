/** Configs of channels that take receipts. */
export const receivingConfigs = {
  webhook: {
    url: 'https://example.com/hook',
    secret: `whsec_${Buffer.alloc(32, 'webhook').toString('base64')}`,
  },
  'whatsapp-cloud': {
    phoneNumberId: '1',
    accessToken: 'token',
    appSecret: 'secret-of-the-app',
    verifyToken: 'token-of-the-webhook',
  },
  twilio: {
    accountSid: `AC${'0a'.repeat(16)}`,
    authToken: 'token',
    from: '+15550100100',
    statusCallback: true,
  },
  smtp: { host: 'mail.example.com', from: 'sender@example.com', bounceToken: 'token-of-the-pipe' },
  resend: {
    apiKey: 're_key',
    from: 'sender@example.com',
    webhookSecret: `whsec_${Buffer.alloc(24, 'resend').toString('base64')}`,
  },
  vonage: {
    via: 'whatsapp',
    from: '+15550100100',
    apiKey: 'key',
    apiSecret: 'secret',
    signatureSecret: 'secret-of-signatures',
  },
}
export type ReceivingProvider = keyof typeof receivingConfigs
