import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { buildEndpoint, callbacksOf, type Endpoint } from '../support/endpoints.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as acceptCall,
  answer,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

const endpointClaimMs = 200
const callsOfPhase = 100
const pauseMs = 10

let service: TestService
let receiver: WebhookReceiver
let account: Account

beforeAll(async () => {
  receiver = await openWebhookReceiver()
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  })
  account = await buildAccount(service)
  await service.startWorker('rotating', { times: { endpointClaimMs } })
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
})

/** An endpoint that refuses what is not signed by the secret that it knows. */
async function openVerifyingEndpoint() {
  const seen = { taken: 0, refused: 0 }
  let verifier: Webhook | undefined
  const url = receiver.at((request, response) => {
    const call = receiver.calls.at(-1)
    try {
      verifier?.verify(call?.body ?? '', request.headers as Record<string, string>)
      seen.taken++
      return acceptCall(request, response)
    } catch {
      seen.refused++
      return answer(401)(request, response)
    }
  })
  const endpoint = await buildEndpoint(service, account.accountId, url)
  const know = (secret: string) => {
    verifier = new Webhook(secret)
  }
  know(endpoint.secret)
  return { endpoint, seen, know }
}

async function rotate({ endpointId }: Endpoint, ...options: string[]): Promise<string> {
  const { status, stdout } = await runCli(service, 'endpoint', 'rotate-secret', endpointId, ...options)
  expect(status).toBe(0)
  return JSON.parse(stdout).secret
}

test('a rotation under load: receivers that know the former or the new secret refuse nothing until the overlap ends', async () => {
  const former = await openVerifyingEndpoint()
  const present = await openVerifyingEndpoint()
  let isOver = false
  const load = (async () => {
    while (!isOver) {
      await accept(service, account, textBody())
      // So that this process, which is all of them, isn't so busy with sends that callbacks have to wait.
      await sleep(pauseMs)
    }
  })()
  const taken = (of: typeof former, more: number) => {
    const from = of.seen.taken
    return eventually(`${more} calls`, async () => of.seen.taken >= from + more)
  }
  try {
    await Promise.all([former, present].map((one) => taken(one, callsOfPhase)))
    await rotate(former.endpoint)
    const secret = await rotate(present.endpoint)
    // A claim that began before goes on with the secrets that it read.
    await sleep(2 * endpointClaimMs)
    present.know(secret)
    await Promise.all([former, present].map((one) => taken(one, callsOfPhase)))
  } finally {
    isOver = true
    await load
  }
  for (const { endpoint } of [former, present])
    await eventually('all are told', async () =>
      (await callbacksOf(service, endpoint)).every(({ finishedAt }) => finishedAt !== null),
    )
  expect([former.seen.refused, present.seen.refused]).toEqual([0, 0])

  // Without an overlap, only the last secret signs.
  const last = await rotate(present.endpoint, '--overlap', '0s')
  await sleep(2 * endpointClaimMs)
  await accept(service, account, textBody())
  await eventually('the secret before it is refused', async () => present.seen.refused > 0)
  present.know(last)
  await taken(present, 1)
})
