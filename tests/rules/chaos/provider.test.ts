import { setTimeout as sleep } from 'node:timers/promises'
import { expect, type TestContext, test } from 'vitest'
import { startReaper } from '../../../src/dev/embedded/index.ts'
import { startProvider } from '../../chaos/provider.ts'
import { eventually } from '../../support/wait.ts'

const answersAfterMs = 100
const busyForMs = 1500

async function openProvider({ onTestFinished }: TestContext) {
  const reaper = startReaper()
  onTestFinished(() => void reaper.close())
  const provider = await startProvider(reaper)
  onTestFinished(provider.stop)
  const ledger = provider.open('/path', 1)
  const call = (requestId: string, contact: string) =>
    fetch(provider.urlOf('/path'), {
      method: 'POST',
      headers: { 'webhook-id': requestId },
      body: JSON.stringify({ contact: { value: contact } }),
    })
  return { provider, ledger, call }
}

test('the provider answers in time while the process of the load is busy', async (context) => {
  const { provider, ledger, call } = await openProvider(context)
  ledger.behave('slow', answersAfterMs, answersAfterMs)
  ledger.onCall = () => {
    const busyUntil = performance.now() + busyForMs
    while (performance.now() < busyUntil);
  }
  await call('a', '+1')
  await provider.synced()
  const [{ arrivedAt, answeredAt = Infinity }] = ledger.calls as [(typeof ledger.calls)[number]]
  expect(answeredAt - arrivedAt).toBeLessThan(busyForMs)
})

test('the ledger has each call with its number, contact and effect', async (context) => {
  const { provider, ledger, call } = await openProvider(context)
  const arrived: string[] = []
  ledger.onCall = ({ requestId }) => arrived.push(requestId)
  await call('a', '+1')
  ledger.behave('holding')
  const held = call('a', '+1')
  await eventually('it is called again', async () => ledger.calls.length === 2)
  await sleep(answersAfterMs)
  expect(ledger.calls[1]).toMatchObject({ number: 2, effect: 'unknown', treatment: 'under way' })
  ledger.behave('hangingFor', '+2', 0)
  expect((await held).status).toBe(200)
  void call('b', '+2').catch(() => {})
  await eventually('the third is treated', async () => ledger.calls[2]?.answeredAt !== undefined)
  await provider.synced()
  expect(ledger.calls).toMatchObject([
    { requestId: 'a', contact: '+1', number: 1, effect: 'accepted', treatment: '200' },
    { requestId: 'a', contact: '+1', number: 2, effect: 'accepted', treatment: '200' },
    { requestId: 'b', contact: '+2', number: 1, effect: 'unknown', treatment: 'no answer' },
  ])
  expect(arrived).toEqual(['a', 'a', 'b'])
})
