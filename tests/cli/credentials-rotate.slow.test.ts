import { randomBytes } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { rotateConfigs } from '../../db/accounts/sealed-configs.ts'
import { channels } from '../../db/schema.ts'
import { openConfig, sealConfig } from '../../src/core/channels/sealed-config.ts'
import { mintMediaLink } from '../../src/core/messages/media-link.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildWebhookChannel,
  textBody,
} from '../support/builders.ts'
import { runCliWith } from '../support/cli.ts'
import { buildEndpoint, endpointRow } from '../support/endpoints.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { waitingForLocks } from '../support/stores.ts'
import { eventually } from '../support/wait.ts'
import { openWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const [oldKey, newKey, lostKey] = [randomBytes(32), randomBytes(32), randomBytes(32)] as const
const onlyOld = { CREDENTIALS_KEY: oldKey.toString('base64') }
const onlyNew = { CREDENTIALS_KEY: newKey.toString('base64') }
const both = { ...onlyNew, CREDENTIALS_KEY_PREVIOUS: oldKey.toString('base64') }
const reachable = {
  PUBLIC_BASE_URL: 'http://127.0.0.1:1',
  ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
  CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
}

let service: TestService
let receiver: WebhookReceiver
let account: Account

beforeAll(async () => {
  receiver = await openWebhookReceiver()
  service = await startTestService({ ...onlyOld, ...reachable })
})
beforeEach(async () => {
  await service.runtime.db.$client.query('truncate channels cascade')
  account = await buildAccount(service)
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
})

async function rotateByCli(keys: Record<string, string> = both) {
  const { status, stdout, stderr } = await runCliWith(service, keys, 'credentials', 'rotate')
  return { status, stderr, answer: stdout === '' ? undefined : JSON.parse(stdout) }
}

async function rotate(...keys: [Buffer, ...Buffer[]]) {
  const { rotated, already, unopened } = await rotateConfigs(service.runtime.db, keys)
  return { rotated: rotated.length, already: already.length, unopened }
}

async function sealedConfigOf(channelId: string): Promise<string> {
  const { db } = service.runtime
  const [row] = await db.select().from(channels).where(eq(channels.id, channelId))
  return row?.sealedConfig ?? ''
}

/** Sends through a worker that has these keys. @returns the outcome of the attempt. */
async function sendWith(keys: Record<string, string>, channelId: string): Promise<string> {
  const one = await startTestService({ ...keys, ...reachable }, service.stores)
  try {
    await one.startWorker(`worker-${uuidv7()}`)
    const requestId = await accept(one, { ...account, channelId }, textBody())
    const { outcome } = await eventually('the end of the attempt', async () =>
      one.logs.find((line) => line.requestId === requestId && line.event === 'attempt_finished'),
    )
    return String(outcome)
  } finally {
    await one.stop()
  }
}

test('a rolling rotation fails no send: with both keys set, configs of either open; afterwards the new key opens all', async () => {
  const url = receiver.at((_request, response) => response.end())
  const channelId = await buildWebhookChannel(service, account.accountId, url, 'resend')
  expect(await sendWith(both, channelId)).toBe('sent')
  const answer = { rotated: 2, already: 0 }
  expect(await rotateByCli()).toEqual({ status: 0, stderr: '', answer })
  expect(await sendWith(both, channelId)).toBe('sent')
  expect(await sendWith(onlyNew, channelId)).toBe('sent')
  expect(await sendWith(onlyOld, channelId)).toBe('not_called')
})

test('it can be run again, continues where it ended, and counts what was done before', async () => {
  const { accountId, channelId } = account
  expect(await rotate(newKey, oldKey)).toEqual({ rotated: 1, already: 0, unopened: [] })
  const sealed = await sealedConfigOf(channelId)
  expect(openConfig(sealed, channelId, [newKey])).toEqual({})
  expect(await rotate(newKey, oldKey)).toEqual({ rotated: 0, already: 1, unopened: [] })
  expect(await rotate(newKey)).toEqual({ rotated: 0, already: 1, unopened: [] })
  await buildChannel(service, accountId)
  expect(await rotate(newKey, oldKey)).toEqual({ rotated: 1, already: 1, unopened: [] })
  expect(await sealedConfigOf(channelId)).toBe(sealed)
})

test('configs that no key opens are named, and all others are done', async () => {
  const { db } = service.runtime
  const lost = await buildChannel(service, account.accountId)
  await updateChannel(db, lost, { sealedConfig: sealConfig({}, lost, lostKey) })
  const altered = await buildChannel(service, account.accountId)
  await updateChannel(db, altered, { sealedConfig: sealConfig({}, lost, newKey) })
  const last = await buildChannel(service, account.accountId)
  const { status, stderr, answer } = await rotateByCli()
  expect({ status, answer }).toEqual({ status: 1, answer: undefined })
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(stderr).toContain('2 rotated, 0 rotated before')
  expect(stderr).toContain(`${lost}, ${altered}: set each config again: outbound channel update`)
  for (const done of [account.channelId, last]) {
    expect(openConfig(await sealedConfigOf(done), done, [newKey])).toEqual({})
    expect(stderr).not.toContain(done)
  }
})

test('without the previous key nothing is changed, and the answer says which setting is missing', async () => {
  const before = await sealedConfigOf(account.channelId)
  const { status, stderr } = await rotateByCli(onlyNew)
  expect(status).toBe(1)
  expect(stderr).toContain(`${account.channelId}: set CREDENTIALS_KEY_PREVIOUS`)
  expect(await sealedConfigOf(account.channelId)).toBe(before)
})

test('a config that a channel gets during the rotation is not lost', async () => {
  const { channelId } = account
  const client = await service.runtime.db.$client.connect()
  await client.query('begin')
  const given = sealConfig({ given: 'now' }, channelId, oldKey)
  await client.query('update channels set sealed_config = $1 where id = $2', [given, channelId])
  const rotating = rotate(newKey, oldKey)
  await eventually('the rotation comes to the channel', async () => {
    const { rows } = await service.runtime.db.$client.query(waitingForLocks)
    return rows.length > 0
  })
  await client.query('commit')
  client.release()
  expect(await rotating).toEqual({ rotated: 1, already: 0, unopened: [] })
  expect(openConfig(await sealedConfigOf(channelId), channelId, [newKey])).toEqual({ given: 'now' })
})

test('rotates any number of channels', async () => {
  const { accountId } = account
  const rows = Array.from({ length: 201 }, () => {
    const id = uuidv7()
    const sealedConfig = sealConfig({ id }, id, oldKey)
    return { id, accountId, provider: 'sandbox', name: 'x', sealedConfig, onUncertain: 'hold' } as const
  })
  await service.runtime.db.insert(channels).values(rows)
  expect(await rotate(newKey, oldKey)).toEqual({ rotated: 202, already: 0, unopened: [] })
  const kept = await service.runtime.db.select().from(channels).where(eq(channels.name, 'x'))
  for (const { id, sealedConfig } of kept) expect(openConfig(sealedConfig, id, [newKey])).toEqual({ id })
})

test('media links signed before the rotation lead to their media while the previous key is set', async () => {
  const requestId = await accept(service, account, {
    contact: { value: '+4915112345678' },
    message: { type: 'media', media: { mediaType: 'document', base64: 'dGV4dA==' } },
  })
  const inAMinute = new Date(Date.now() + 60_000)
  const pathBy = (key: Buffer) =>
    new URL(mintMediaLink(reachable.PUBLIC_BASE_URL, requestId, inAMinute, key)).pathname
  const statuses = async (keys: Record<string, string>) => {
    const one = await startTestService({ ...keys, ...reachable }, service.stores)
    const asked = [oldKey, newKey, lostKey].map(async (key) => (await fetch(one.url + pathBy(key))).status)
    return await Promise.all(asked).finally(() => one.stop())
  }
  expect(await statuses(both)).toEqual([200, 200, 404])
  expect(await statuses(onlyNew)).toEqual([404, 200, 404])
})

test('the secrets of an endpoint are resealed too, the present one and the former one', async () => {
  const endpoint = await buildEndpoint(service, account.accountId, 'https://example.com/callbacks')
  const { endpointId } = endpoint
  const { stdout } = await runCliWith(service, onlyOld, 'endpoint', 'rotate-secret', endpointId)
  expect((await rotateByCli()).answer).toEqual({ rotated: 2, already: 0 })
  const { sealedSecret, sealedFormerSecret } = await endpointRow(service, endpoint)
  expect(openConfig(sealedSecret, endpointId, [newKey])).toEqual({ secret: JSON.parse(stdout).secret })
  expect(openConfig(sealedFormerSecret ?? '', endpointId, [newKey])).toEqual({ secret: endpoint.secret })
  expect((await rotateByCli()).answer).toEqual({ rotated: 0, already: 2 })
})
