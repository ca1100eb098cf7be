import { expect, test } from 'vitest'
import { parseNetwork } from '../../../src/core/requests/public-address.ts'
import { createHttpClient } from '../../../workers/http/http.ts'
import { eventually } from '../../support/wait.ts'
import { accept, gate, openWebhookReceiver } from '../../support/webhook-receiver.ts'

test('there are as many connections to an origin as calls in flight to it, and later calls use them again', async (context) => {
  const http = createHttpClient({ allowedPrivateNetworks: [parseNetwork('127.0.0.0/8')], maxConnections: 50 })
  const [first, second] = [await openWebhookReceiver(), await openWebhookReceiver()]
  context.onTestFinished(async () => {
    await http.close()
    await Promise.all([first.stop(), second.stop()])
  })
  const post = (url: string, count: number) =>
    Array.from({ length: count }, () =>
      http.post({ url, headers: {}, body: 'x' }, AbortSignal.timeout(100_000)),
    )
  const [held, few] = [gate(), gate()]
  const calls = [...post(first.at(held.behaviour), 50), ...post(second.at(few.behaviour), 3)]
  await eventually('all are in flight', async () => held.waiting === 50 && few.waiting === 3)
  expect(http.connections()).toEqual({ inUse: 53, idle: 0, toOneOrigin: 50 })
  held.open()
  few.open()
  for (const result of await Promise.all(calls)) expect(result).toMatchObject({ kind: 'answer', status: 200 })
  await eventually('all are idle', async () => http.connections().idle === 53)
  expect(http.connections()).toEqual({ inUse: 0, idle: 53, toOneOrigin: 50 })
  // Each round begins in the moment in which the one before is answered.
  for (let round = 0; round < 3; round++) {
    for (const result of await Promise.all(post(first.at(accept), 50))) expect(result.kind).toBe('answer')
  }
  expect(first.connections).toBe(50)
})
