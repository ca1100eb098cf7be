import { Webhook } from 'standardwebhooks'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createEndpoint } from '../../db/callbacks/endpoints.ts'
import { eventTypes } from '../../src/core/callbacks/callback.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { runCliWith } from '../support/cli.ts'
import { callbacksOf, endpointRow } from '../support/endpoints.ts'
import { soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as acceptCall,
  answer,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

let service: TestService
let receiver: WebhookReceiver
let account: Account

beforeAll(async () => {
  receiver = await openWebhookReceiver()
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    CALLBACK_RETRY_DELAYS_SECONDS: '0',
  })
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
})
beforeEach(async () => {
  account = await buildAccount(service)
})

async function cli(...args: string[]) {
  const { status, stdout, stderr } = await runCliWith(
    service,
    { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8' },
    ...args,
  )
  return { status, stderr, answer: stdout === '' ? undefined : JSON.parse(stdout) }
}

async function done(...args: string[]) {
  const { status, stderr, answer: given } = await cli(...args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return given
}

async function create(url: string, ...more: string[]): Promise<{ endpointId: string; secret: string }> {
  return await done('endpoint', 'create', '--account', account.accountId, '--url', url, ...more)
}

const listed = async () => (await done('endpoint', 'list', '--account', account.accountId)).endpoints
const allDone = (endpoint: { endpointId: string; secret: string }, count: number) =>
  eventually('all callbacks to end', async () => {
    const all = await callbacksOf(service, endpoint)
    return all.length === count && all.every(({ finishedAt }) => finishedAt !== null) && all
  })

test('an endpoint is created with a secret that is shown once, and sealed', async () => {
  const endpoint = await create('https://example.com/callbacks', '--events', 'message.failed, message.read')
  expect(endpoint).toEqual({
    endpointId: expect.any(String),
    secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/),
  })
  expect((await endpointRow(service, endpoint)).sealedSecret).not.toContain(endpoint.secret.slice(6, 20))
  expect(await listed()).toEqual([
    {
      endpointId: endpoint.endpointId,
      url: 'https://example.com/callbacks',
      events: ['message.failed', 'message.read'],
      createdAt: expect.any(String),
      disabledAt: null,
      disabledReason: null,
      failingSince: null,
      answeredAt: null,
      breakerOpenUntil: null,
      waiting: 0,
    },
  ])
})

test('an account has ten at most, also of those created at once', async () => {
  const many = Array.from({ length: 15 }, () => uuidv7())
  const { accountId } = account
  const created = await Promise.all(
    many.map((id) =>
      createEndpoint(service.runtime.db, {
        ...{ id, accountId, url: 'https://example.com/callbacks', events: null, sealedSecret: '' },
      }),
    ),
  )
  expect(created.filter((creation) => creation === 'created')).toHaveLength(10)
  expect(await listed()).toHaveLength(10)
  const { status, stderr } = await cli(
    ...['endpoint', 'create', '--account', account.accountId, '--url', 'https://example.com/callbacks'],
  )
  expect({ status, stderr }).toEqual({
    status: 4,
    stderr: expect.stringContaining('maximum of 10 endpoints'),
  })
})

test.each([
  ['http://example.com', undefined],
  ['https://10.0.0.1/x', '10.0.0.1 is not a public address'],
  ['https://[::ffff:169.254.169.254]/', 'is not a public address'],
  ['https://[64:ff9b::a9fe:a9fe]/', 'is not a public address'],
  ['https://user:secret@example.com', 'user name or password'],
  ['ftp://example.com', 'has to be a URL'],
  ['http://93.184.216.34/x', 'has to be https'],
])('of %s', async (url, fault) => {
  const { status, stderr } = await cli('endpoint', 'create', '--account', account.accountId, '--url', url)
  expect(status).toBe(fault === undefined ? 0 : 64)
  expect(stderr).toContain(fault ?? '')
  expect(stderr).not.toContain('secret@')
})

test('events that nobody knows are refused with those that there are', async () => {
  const { status, stderr } = await cli(
    ...[
      'endpoint',
      'create',
      '--account',
      account.accountId,
      '--url',
      'https://example.com',
      '--events',
      'sent',
    ],
  )
  expect(status).toBe(64)
  for (const type of eventTypes) expect(stderr).toContain(type)
})

test('url and events can be changed, also back to all', async () => {
  const { endpointId } = await create('https://example.com/a', '--events', 'message.sent')
  await service.runtime.db.$client.query('update endpoints set answered_at = now(), failing_since = now()')
  await done('endpoint', 'update', endpointId, '--events', 'all')
  expect(await listed()).toMatchObject([{ events: null, answeredAt: expect.any(String) }])
  await done('endpoint', 'update', endpointId, '--url', 'https://example.com/b')
  // Nothing is known of the new URL.
  expect(await listed()).toMatchObject([
    { url: 'https://example.com/b', answeredAt: null, failingSince: null },
  ])
  expect((await cli('endpoint', 'update', endpointId)).stderr).toContain('give url or events, or both')
})

test('disabled by an operator, it keeps its callbacks, and goes on when it is enabled', async () => {
  await service.startWorker('enabling', { times: soonReconciled })
  const endpoint = await create(receiver.at(acceptCall))
  await done('endpoint', 'disable', endpoint.endpointId)
  expect(await listed()).toMatchObject([{ disabledReason: 'by an operator' }])
  await accept(service, account, textBody())
  await eventually('it is kept', async () => (await listed())[0].waiting === 1)
  await done('endpoint', 'enable', endpoint.endpointId)
  await allDone(endpoint, 1)
  expect(await listed()).toMatchObject([{ disabledAt: null, waiting: 0 }])
  await service.stopWorkers()
})

test('deleted, it is gone with its callbacks', async () => {
  const endpoint = await create('https://example.com/callbacks')
  await done('endpoint', 'delete', endpoint.endpointId)
  expect(await listed()).toEqual([])
  expect(await callbacksOf(service, endpoint)).toEqual([])
})

test.each(['enable', 'disable', 'delete', 'test', 'rotate-secret'])(
  '%s of none is refused',
  async (command) => {
    for (const id of ['nothing', '01890000-0000-7000-8000-000000000000']) {
      expect(await cli('endpoint', command, id)).toMatchObject({
        status: 3,
        stderr: expect.stringContaining(`No endpoint ${id}`),
      })
    }
  },
)

describe('with a worker', () => {
  beforeEach(async () => {
    const worker = await service.startWorker('of the CLI', { times: soonReconciled })
    return () => worker.stop()
  })

  test('a test shows what the endpoint answers, whatever types it takes', async () => {
    const good = await create(receiver.at(acceptCall), '--events', 'message.failed')
    const tested = await done('endpoint', 'test', good.endpointId)
    expect(tested).toMatchObject({ webhookId: expect.any(String), status: 200, reason: null })
    const call = receiver.callsOf(tested.webhookId)[0]
    expect(JSON.parse(call?.body ?? '')).toEqual({
      type: 'endpoint.test',
      timestamp: expect.any(String),
      data: { endpointId: good.endpointId },
    })
    const bad = await create(receiver.at(answer(404)))
    expect(await done('endpoint', 'test', bad.endpointId)).toMatchObject({ status: 404 })
  })

  test('after a rotation both secrets sign until the overlap ends', async () => {
    const endpoint = await create(receiver.at(acceptCall))
    const before = Date.now()
    const rotated = await done('endpoint', 'rotate-secret', endpoint.endpointId)
    expect(Date.parse(rotated.bothSignUntil) - before).toBeGreaterThan(86_000_000)
    const { webhookId } = await done('endpoint', 'test', endpoint.endpointId)
    const verify = (secret: string, id: string) => {
      const [call] = receiver.callsOf(id)
      return () => new Webhook(secret).verify(call?.body ?? '', call?.headers as Record<string, string>)
    }
    for (const secret of [endpoint.secret, rotated.secret]) expect(verify(secret, webhookId)).not.toThrow()
    const last = await done('endpoint', 'rotate-secret', endpoint.endpointId, '--overlap', '0s')
    const { webhookId: then } = await done('endpoint', 'test', endpoint.endpointId)
    expect(verify(last.secret, then)).not.toThrow()
    for (const secret of [endpoint.secret, rotated.secret]) expect(verify(secret, then)).toThrow()
    expect((await cli('endpoint', 'rotate-secret', endpoint.endpointId, '--overlap', '8d')).status).toBe(64)
    await done('endpoint', 'rotate-secret', endpoint.endpointId, '--overlap', '604800s')
  })

  test('callbacks are sent again: of a send, or those since a time that were given up', async () => {
    let status = 500
    const endpoint = await create(receiver.at((request, response) => answer(status)(request, response)))
    const first = await accept(service, account, textBody())
    await allDone(endpoint, 1)
    status = 200
    const second = await accept(service, account, textBody())
    await allDone(endpoint, 2)
    const callsOf = (requestId: string) => receiver.callsOf(`${requestId}-1`).length
    expect([callsOf(first), callsOf(second)]).toEqual([2, 1])

    const { endpointId } = endpoint
    const since = ['--endpoint', endpointId, '--since', '1h']
    expect(await done('callback', 'redeliver', ...since, '--only', 'given-up')).toEqual({ resent: 1 })
    await eventually('the first again', async () => callsOf(first) === 3)
    expect(await allDone(endpoint, 2)).toMatchObject([{ givenUp: false }, { givenUp: false }])
    expect(await done('callback', 'redeliver', ...since, '--only', 'given-up')).toEqual({
      resent: 0,
      leftOut: { waiting: 0, delivered: 2, earlier: 0 },
    })
    expect(callsOf(second)).toBe(1)

    expect(await done('callback', 'redeliver', second)).toEqual({ resent: 1 })
    await eventually('the second again', async () => callsOf(second) === 2)
    expect(await done('callback', 'resend', ...since)).toEqual({ resent: 2 })
    await eventually('both again', async () => callsOf(first) === 4 && callsOf(second) === 3)
  })

  test('callbacks of a send aren’t sent again to an endpoint of another account, which never got them', async () => {
    const other = await create(receiver.at(acceptCall))
    account = await buildAccount(service)
    const requestId = await accept(service, account, textBody())
    expect(await cli('callback', 'resend', requestId, '--endpoint', other.endpointId)).toMatchObject({
      status: 4,
      stderr: expect.stringContaining(`The endpoint ${other.endpointId} gets no callbacks of this send`),
    })
  })
})

test.each([
  [['callback', 'resend'], 64, 'Give one requestId'],
  [['callback', 'resend', '--since', '1h'], 64, 'Give one requestId'],
  [['callback', 'resend', 'nothing'], 3, 'No send nothing'],
  [['callback', 'resend', '--endpoint', 'nothing', '--since', '1h'], 3, 'No endpoint nothing'],
])('%j is refused', async (args, status, fault) => {
  expect(await cli(...args)).toMatchObject({ status, stderr: expect.stringContaining(fault) })
})
