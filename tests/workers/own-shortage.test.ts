import { expect, test } from 'vitest'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import { ShortageError } from '../../src/platform/process/own-shortage.ts'
import { createCallEndpoint } from '../../workers/callbacks/call-endpoint.ts'
import { createHttpClient } from '../../workers/http/http.ts'
import { namesOf, timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, buildWebhookChannel, textBody } from '../support/builders.ts'
import { serviceOfFile } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { webhookSecret } from '../support/webhook-receiver.ts'

/** To which no connection has a route. */
const service = await serviceOfFile({ ALLOWED_PRIVATE_NETWORKS: '224.0.0.0/4' })
const account = await buildAccount(service)

test('sends for which the machine has no route wait, use up no attempt and open no breaker; one warning says what to do', async () => {
  const channelId = await buildWebhookChannel(service, account.accountId, 'http://224.0.0.1/hook', 'hold')
  await service.startWorker()
  const requestIds: string[] = []
  for (let i = 0; i < 5; i++) requestIds.push(await accept(service, { ...account, channelId }, textBody()))
  for (const requestId of requestIds) {
    const timeline = await eventually('two attempts', async () => {
      const found = await timelineOf(service, requestId)
      return namesOf(found).filter((event) => event === 'attempt_finished').length > 1 && found
    })
    expect(timeline).toMatchObject({ status: 'queued', attempts: 0 })
    const finished = timeline.events.filter(({ event }) => event === 'attempt_finished')
    for (const one of finished)
      expect(one).toMatchObject({
        outcome: 'not_called',
        reason: 'the machine has no route (ENETUNREACH)',
      })
  }
  expect(service.logs.filter(({ event }) => event === 'breaker_opened')).toEqual([])
  expect(service.logs.filter(({ event }) => event === 'worker_shortage')).toMatchObject([
    {
      level: 'warn',
      reason: "the machine has no route (ENETUNREACH): check the machine's network and its routes",
    },
  ])
})

test('a call of an endpoint that could not begin says nothing about the endpoint, and is no try', async () => {
  const resolve = () => Promise.reject(Object.assign(new Error('no descriptor'), { code: 'EMFILE' }))
  const http = createHttpClient({ allowedPrivateNetworks: [], givenBy: 'clients', resolve })
  const endpointId = '01a2008f-5644-7058-8112-8a94d49971f5'
  const { CREDENTIALS_KEY } = service.runtime.settings
  const claimed = {
    endpointId,
    url: 'https://shop.example/callbacks',
    sealedSecret: sealConfig({ secret: webhookSecret }, endpointId, CREDENTIALS_KEY),
    sealedFormerSecret: null,
  }
  const called = createCallEndpoint(service.runtime, http)(
    claimed as never,
    { type: 'message.sent' } as never,
  )
  await expect(called).rejects.toThrow(ShortageError)
  await http.close()
})
