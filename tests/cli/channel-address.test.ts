import { describe, expect, test } from 'vitest'
import { listChannels } from '../../db/accounts/channels.ts'
import { buildAccount } from '../support/builders.ts'
import { runCliWith } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const webhook = (url: string) => ({ url, secret: webhookSecret })
const whatsApp = (baseUrl: string) => ({ phoneNumberId: '1234567890', accessToken: 'token', baseUrl })
const strongKey = { CREDENTIALS_KEY: Buffer.from('0123456789abcdef0123456789abcdef').toString('base64') }
const allowing = { ALLOWED_PRIVATE_NETWORKS: '10.0.0.0/8' }

const channels = () => listChannels(service.runtime.db, account.accountId)

function create(provider: string, config: object, settings: Record<string, string> = {}) {
  const args = ['--account', account.accountId, '--provider', provider, '--name', 'x']
  return runCliWith(service, settings, 'channel', 'create', ...args, '--config', JSON.stringify(config))
}

describe('channel create', () => {
  test.each([
    ['webhook', webhook('http://93.184.216.34/hook')],
    ['webhook', webhook('http://example.com/hook')],
    ['whatsapp-cloud', whatsApp('http://graph.example.com')],
  ])('refuses plain http to a public host: %s', async (provider, config) => {
    const { status, stderr } = await create(provider, config)
    expect(status).toBe(64)
    expect(stderr).toMatch(/(url|baseUrl): http would send .* in plain text; use https, or allow/)
  })

  test.each(['http://127.0.0.1:4000/', 'http://10.0.0.1/', 'http://intranet/'])(
    'takes plain http to an allowed network: %s',
    async (url) => {
      const networks = { ALLOWED_PRIVATE_NETWORKS: '10.0.0.0/8,127.0.0.0/8' }
      expect((await create('webhook', webhook(url), networks)).status).toBe(0)
    },
  )

  test.each(['a', 'aaaaaaaaaaaaaaaa', 'short', 'password'])(
    'refuses a secret of receipts that anyone could guess, in production: %s',
    async (secret) => {
      for (const field of ['appSecret', 'verifyToken']) {
        const config = { phoneNumberId: '1234567890', accessToken: 'token', [field]: secret }
        const { status, stderr } = await create('whatsapp-cloud', config, {
          NODE_ENV: 'production',
          ...strongKey,
        })
        expect(status).toBe(64)
        expect(stderr).toMatch(new RegExp(`${field} is .*forge receipts; make one with: openssl rand`))
        expect((await create('whatsapp-cloud', config, { NODE_ENV: 'development' })).status).toBe(0)
      }
    },
  )

  test('refuses a secret of a webhook that is few bytes repeated, in production', async () => {
    const weak = `whsec_${Buffer.alloc(32).toString('base64')}`
    const strong = `whsec_${Buffer.from('a secret of the tests, of no use').toString('base64')}`
    const config = { url: 'https://example.com/', secret: [strong, weak] }
    const given = { NODE_ENV: 'production', ...strongKey }
    const { stderr } = await create('webhook', config, given)
    expect(stderr).toContain('secret is a few characters repeated')
    expect((await create('webhook', { ...config, secret: strong }, given)).status).toBe(0)
  })

  test.each([
    ['webhook', webhook('http://10.0.0.1/hook?secret-token'), 'url: 10.0.0.1'],
    ['webhook', webhook('https://0x7f000001:8443/'), 'url: 127.0.0.1'],
    ['webhook', webhook('http://[fd00::1]/'), 'url: fd00::1'],
    ['whatsapp-cloud', whatsApp('http://169.254.169.254'), 'baseUrl: 169.254.169.254'],
  ])(
    'refuses an address that is not public, and says what allows it: %s',
    async (provider, config, named) => {
      const before = await channels()
      const { status, stdout, stderr } = await create(provider, config)
      expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
      expect(stderr.trim().split('\n')).toHaveLength(1)
      expect(stderr).toContain(`${named} is not a public address`)
      expect(stderr).toContain('ALLOWED_PRIVATE_NETWORKS')
      expect(stderr).not.toContain('secret-token')
      expect(await channels()).toEqual(before)
    },
  )

  test('accepts it where its network is allowed, and a name or a public address anywhere', async () => {
    for (const [config, settings] of [
      [webhook('http://10.0.0.1/hook'), allowing],
      [webhook('https://intranet.example/hook'), {}],
      [webhook('https://93.184.216.34/hook'), {}],
    ] as const) {
      expect(await create('webhook', config, settings)).toMatchObject({ status: 0, stderr: '' })
    }
  })
})

test('channel update refuses it, too, and keeps the previous config', async () => {
  const { stdout } = await create('webhook', webhook('https://example.com/hook'))
  const { channelId } = JSON.parse(stdout)
  const update = (settings: Record<string, string>, ...options: string[]) =>
    runCliWith(service, settings, 'channel', 'update', channelId, ...options)
  const config = ['--config', JSON.stringify(webhook('http://10.0.0.1/hook'))]
  const sealed = async () =>
    (await service.runtime.db.$client.query('select sealed_config from channels where id = $1', [channelId]))
      .rows
  const before = await sealed()
  const { status, stderr } = await update({}, ...config)
  expect({ status, stderr }).toEqual({ status: 64, stderr: expect.stringContaining('url: 10.0.0.1') })
  expect(await sealed()).toEqual(before)
  expect((await update(allowing, ...config)).status).toBe(0)
  expect((await update({}, '--name', 'Renamed')).status).toBe(0)
})
