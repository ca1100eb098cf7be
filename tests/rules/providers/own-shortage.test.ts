import { expect, test } from 'vitest'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { SmtpConfig } from '../../../src/providers/smtp/config.ts'
import { smtp as smtpRules } from '../../../src/providers/smtp/index.ts'
import { webhook as webhookRules } from '../../../src/providers/webhook/index.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import { createMediaFetcher } from '../../../workers/http/media-fetcher.ts'
import { createSmtpSender } from '../../../workers/providers/smtp.ts'
import { openMediaMemory } from '../../../workers/sends/dispatch/media-memory.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { withMemory } from '../../support/fetching.ts'
import { httpSender } from '../../support/http-sender.ts'
import { webhookSecret } from '../../support/webhook-receiver.ts'

/** No connection of TCP has a route to a group of hosts. */
const noRoute = '224.0.0.1'
const allowedPrivateNetworks = ['224.0.0.0/4', '127.0.0.0/8'].map(parseNetwork)
const noDescriptor = async () => {
  throw Object.assign(new Error('getaddrinfo EMFILE'), { code: 'EMFILE' })
}
const signal = () => AbortSignal.timeout(30_000)

test('a call by HTTP for which the machine has no route was not made', async () => {
  const http = createHttpClient({ allowedPrivateNetworks })
  const config = webhookRules.config.parse({ url: `http://${noRoute}/hook`, secret: webhookSecret })
  const delivery = { ...buildDelivery(webhookRules, config, {}), config }
  expect(await httpSender(webhookRules, http).send(delivery, signal())).toMatchObject({
    outcome: 'not_called',
    reason: 'the machine has no route (ENETUNREACH)',
    shortage: { advice: expect.stringContaining('routes') },
  })
  await http.close()
})

test('nor was one whose look-up had no descriptor', async () => {
  const http = createHttpClient({ allowedPrivateNetworks, resolve: noDescriptor })
  const result = await http.post({ url: 'http://shop.example', headers: {}, body: '{}' }, signal())
  expect(result).toMatchObject({ kind: 'not_sent', shortage: { reason: expect.stringContaining('EMFILE') } })
  await http.close()
})

test('one of several addresses that refuses makes it a failure of the other side', async () => {
  const resolve = async () => [
    { address: noRoute, family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]
  const http = createHttpClient({ allowedPrivateNetworks, resolve })
  const result = await http.post({ url: 'http://shop.example:9', headers: {}, body: '{}' }, signal())
  expect(result).toMatchObject({ kind: 'not_sent' })
  expect(result).not.toHaveProperty('shortage')
  await http.close()
})

test('a mail for which the machine has no route was not begun', async () => {
  const media = createMediaFetcher({ allowedPrivateNetworks })
  const config = smtpRules.config.parse({ host: noRoute, port: 2525, from: 'shop@example.com' })
  const changes = { contact: { type: 'email', value: 'ann@example.com' } } as const
  const delivery = buildDelivery(smtpRules, config, changes) as Delivery<SmtpConfig>
  expect(await createSmtpSender(media).send(delivery, signal())).toMatchObject({
    outcome: 'not_called',
    reason: 'the machine has no route (ENETUNREACH)',
  })
  await media.close()
})

test('media are fetched later if the machine has no descriptor; to an address without a route the fetch fails', async () => {
  const fetchBy = async (resolve: () => Promise<{ address: string; family: number }[]>) => {
    const fetcher = withMemory(createMediaFetcher({ allowedPrivateNetworks, resolve }), openMediaMemory())
    const fetched = await fetcher.fetch({ url: 'http://shop.example/a.png', owner: 'a' }, signal())
    await fetcher.close()
    return fetched
  }
  expect(await fetchBy(noDescriptor)).toMatchObject({ kind: 'put_off', shortage: expect.anything() })
  expect(await fetchBy(async () => [{ address: noRoute, family: 4 }])).toMatchObject({ kind: 'failed' })
})
