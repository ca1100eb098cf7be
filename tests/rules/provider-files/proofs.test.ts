import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { ReceiptRequest } from '../../../src/core/receipts/receipt.ts'
import { compileFile } from '../../../src/providers/files/compile.ts'
import { shippedText } from '../../../src/providers/shipped.ts'

const nowMs = 1_795_442_400_000
const nowSeconds = String(nowMs / 1000)
const ed25519 = generateKeyPairSync('ed25519')
const ecdsa = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const spki = (key: KeyObject) => key.export({ type: 'spki', format: 'der' }).toString('base64')
const rawEd25519 = ed25519.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64')

const body = JSON.stringify({
  data: { payload: { to: [{ status: 'delivered' }] } },
  signature: { timestamp: nowSeconds, token: 'abc' },
})

interface Given {
  headers?: Record<string, string>
  target?: string
  body?: string
}

function requestOf(given: Given): ReceiptRequest {
  return {
    headers: { 'content-type': 'application/json', ...given.headers },
    target: given.target ?? '/receipts/1',
    body: Buffer.from(given.body ?? body),
    publicBaseUrl: 'https://messages.example.com',
    nowMs,
  }
}

/** The rules of a file with another proof. */
function rulesWith(proof: object) {
  const text = shippedText('telnyx')
    .replace(/ {2}proof:\n[\s\S]*?(?= {2}request:)/, `  proof: ${JSON.stringify(proof)}\n`)
    .replace(
      '  publicKey: { as: publicKey, optional: true,',
      '  secret: { secret: true, optional: true, words: s }\n  user: { optional: true, words: u }\n  publicKey: { as: publicKey, optional: true,',
    )
  const file = compileFile(text)
  if ('issues' in file) throw new Error(file.issues.join('\n'))
  return file.provider
}

interface Case {
  proof: object
  config: Record<string, string>
  other: Record<string, string>
  good: Given
  /** Changes that the proof notices. */
  bad: Given[]
  coversBody?: boolean
}

const hmac = (hash: string, key: string, ...parts: string[]) => createHmac(hash, key).update(parts.join(''))
const token = (claims: object, key: string) => {
  const text = [{ alg: 'HS256' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${text}.${hmac('sha256', key, text).digest('base64url')}`
}
const bodyHash = createHash('sha256').update(body).digest('hex')
const webhookKey = `whsec_${Buffer.alloc(24, 'k').toString('base64')}`

const overHashOf = (text: string) =>
  createHmac('sha256', 'k')
    .update('https://messages.example.com/receipts/1\n')
    .update(createHash('sha256').update(text).digest())
    .digest('base64')

const cases: Record<string, Case> = {
  'an HMAC of the body in a header': {
    proof: {
      hmac: {
        key: 'secret',
        at: { header: 'X-Sig' },
        hash: 'sha256',
        encoding: 'hex',
        prefix: 'sha256=',
        over: ['body'],
      },
    },
    config: { secret: 'k' },
    other: { secret: 'other' },
    good: { headers: { 'x-sig': `sha256=${hmac('sha256', 'k', body).digest('hex')}` } },
    bad: [
      { headers: { 'x-sig': hmac('sha256', 'k', body).digest('hex') } },
      { headers: { 'x-sig': 'sha256=' } },
    ],
    coversBody: true,
  },
  'an HMAC in the body, of a time and a token': {
    proof: {
      hmac: {
        key: 'secret',
        at: { header: 'X-Sig' },
        hash: 'sha256',
        encoding: 'hex',
        over: [{ at: '/signature/timestamp' }, { at: '/signature/token' }],
        fresh: { at: '/signature/timestamp', seconds: 300 },
      },
    },
    config: { secret: 'k' },
    other: { secret: 'other' },
    good: { headers: { 'x-sig': hmac('sha256', 'k', nowSeconds, 'abc').digest('hex') } },
    bad: [{ headers: { 'x-sig': hmac('sha256', 'k', 'abc').digest('hex') } }],
  },
  'an HMAC of the address and a header': {
    proof: {
      hmac: {
        key: 'secret',
        at: { header: 'X-Sig' },
        hash: 'sha256',
        encoding: 'base64',
        over: ['url', { text: '.' }, { header: 'X-Nonce' }],
      },
    },
    config: { secret: 'k' },
    other: { secret: 'other' },
    good: {
      headers: {
        'x-nonce': '7',
        'x-sig': hmac('sha256', 'k', 'https://messages.example.com/receipts/1', '.', '7').digest('base64'),
      },
    },
    bad: [
      {
        target: '/receipts/1?x=1',
        headers: {
          'x-nonce': '7',
          'x-sig': hmac('sha256', 'k', 'https://messages.example.com/receipts/1', '.', '7').digest('base64'),
        },
      },
    ],
  },
  'an HMAC of the hash of the body, as bytes': {
    proof: {
      hmac: {
        key: 'secret',
        at: { header: 'X-Sig' },
        hash: 'sha256',
        encoding: 'base64',
        over: ['url', { text: '\n' }, 'bodyHash'],
      },
    },
    config: { secret: 'k' },
    other: { secret: 'other' },
    good: { headers: { 'x-sig': overHashOf(body) } },
    bad: [{ headers: { 'x-sig': overHashOf('{}') } }],
    coversBody: true,
  },
  'Ed25519 by a bare key': {
    proof: {
      ed25519: {
        key: 'publicKey',
        at: { header: 'X-Sig' },
        encoding: 'base64',
        over: [{ header: 'X-Time' }, { text: '|' }, 'body'],
        fresh: { at: { header: 'X-Time' }, seconds: 300 },
      },
    },
    config: { publicKey: rawEd25519 },
    other: { publicKey: spki(generateKeyPairSync('ed25519').publicKey) },
    good: {
      headers: {
        'x-time': nowSeconds,
        'x-sig': sign(null, Buffer.from(`${nowSeconds}|${body}`), ed25519.privateKey).toString('base64'),
      },
    },
    bad: [
      {
        headers: {
          'x-time': '1795442000',
          'x-sig': sign(null, Buffer.from(`1795442000|${body}`), ed25519.privateKey).toString('base64'),
        },
      },
    ],
    coversBody: true,
  },
  'ECDSA P-256': {
    proof: {
      ecdsa: {
        key: 'publicKey',
        at: { header: 'X-Sig' },
        hash: 'sha256',
        encoding: 'base64',
        over: [{ header: 'X-Time' }, 'body'],
      },
    },
    config: { publicKey: spki(ecdsa.publicKey) },
    other: { publicKey: spki(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey) },
    good: {
      headers: {
        'x-time': nowSeconds,
        'x-sig': sign('sha256', Buffer.from(nowSeconds + body), ecdsa.privateKey).toString('base64'),
      },
    },
    bad: [
      {
        headers: {
          'x-time': '1',
          'x-sig': sign('sha256', Buffer.from(nowSeconds + body), ecdsa.privateKey).toString('base64'),
        },
      },
    ],
    coversBody: true,
  },
  'Standard Webhooks': {
    proof: { standardWebhooks: { key: 'secret', prefix: 'webhook-' } },
    config: { secret: webhookKey },
    other: { secret: `whsec_${Buffer.alloc(24, 'o').toString('base64')}` },
    good: {
      headers: {
        'webhook-id': 'm1',
        'webhook-timestamp': nowSeconds,
        'webhook-signature': `v1,${createHmac('sha256', Buffer.alloc(24, 'k')).update(`m1.${nowSeconds}.${body}`).digest('base64')}`,
      },
    },
    bad: [],
    coversBody: true,
  },
  'a JWT with the hash of the body': {
    proof: { jwt: { key: 'secret', header: 'Authorization', bodyHash: 'payload_hash' } },
    config: { secret: 'k' },
    other: { secret: 'other' },
    good: { headers: { authorization: `Bearer ${token({ payload_hash: bodyHash }, 'k')}` } },
    bad: [
      { headers: { authorization: `Bearer ${token({}, 'k')}` } },
      { headers: { authorization: 'Bearer ..' } },
    ],
    coversBody: true,
  },
  'basic auth': {
    proof: { basic: { user: 'user', password: 'secret' } },
    config: { user: 'u', secret: 'p' },
    other: { user: 'u', secret: 'other' },
    good: { headers: { authorization: `Basic ${Buffer.from('u:p').toString('base64')}` } },
    bad: [{ headers: { authorization: 'Basic ' } }],
  },
  'a secret in a header': {
    proof: { header: { name: 'X-Token', prefix: 'Token ', value: 'secret' } },
    config: { secret: 'k' },
    other: { secret: 'other' },
    good: { headers: { 'x-token': 'Token k' } },
    bad: [{ headers: { 'x-token': 'k' } }],
  },
  'a token in the address': {
    proof: { token: 'secret' },
    config: { secret: 'k' },
    other: { secret: 'other' },
    good: { target: '/receipts/1?token=k' },
    bad: [{ target: '/receipts/1?token=' }, { target: '/receipts/1' }],
  },
}

describe.each(Object.entries(cases))('%s', (_, { proof, config, other, good, bad, coversBody }) => {
  const provider = rulesWith(proof)
  const parsed = (changes: object) =>
    provider.config.parse({ apiKey: 'KEY', from: '+15550100100', ...changes })
  const isProven = (given: Given, changes: object = config) =>
    provider.receipts?.isProven(requestOf(given), parsed(changes))

  test('proves a request, and only by the channel’s secret', () => {
    expect(isProven(good)).toBe(true)
    expect(isProven(good, other)).toBe(false)
  })

  test('proves nothing without its parts, or with others', () => {
    expect(isProven({})).toBe(false)
    for (const given of bad) expect(isProven(given)).toBe(false)
  })

  test('proves no other body, where it covers the body', () => {
    if (coversBody) expect(isProven({ ...good, body: `${body} ` })).toBe(false)
  })

  test('a channel without its fields takes no receipts', () => {
    expect(provider.receipts?.areOn(parsed(config))).toBe(true)
    expect(provider.receipts?.areOn(parsed({}))).toBe(false)
  })
})
