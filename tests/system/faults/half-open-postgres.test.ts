import { expect, test } from 'vitest'
import type { Answer } from '../../support/answer.ts'
import { post, textBody } from '../../support/builders.ts'
import { longestAnswerMs } from '../../support/longest-answer.ts'
import { expectSooner, type Span, timed } from '../../support/standstill.ts'
import { freshStores } from '../../support/stores.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { startTraffic } from '../../support/traffic.ts'
import { eventually } from '../../support/wait.ts'
import { answer } from '../../support/webhook-receiver.ts'

/** A worker gives up a statement after 10 s. */
const calledWithinMs = 40_000

test('half-open connections to PostgreSQL fail some requests for some seconds, and are replaced', async (context) => {
  const stores = await freshStores()
  const proxy = await startTcpProxy(stores.databaseUrl)
  context.onTestFinished(() => proxy.close())
  const { service, account, ...traffic } = await startTraffic(
    context,
    { DATABASE_URL: proxy.url },
    { stores },
  )
  const channelId = await traffic.buildWebhook(answer(200))
  await service.startWorker()
  await traffic.expectSent(await Promise.all(Array.from({ length: 40 }, () => traffic.send(channelId))))

  expect(proxy.swallowOpen()).toBeGreaterThan(2)
  const answers: (Answer & Span)[] = []
  const requestId = await eventually('one is accepted', async () => {
    const sent = await timed(() => post(service, { ...account, channelId }, textBody()))
    answers.push(sent)
    return sent.status === 202 && String(sent.body.requestId)
  })
  for (const each of answers) expectSooner(each, longestAnswerMs)
  await eventually('its call', async () => traffic.callsOf([requestId]).length > 0, calledWithinMs)
  await traffic.expectSent([requestId])
})
