import { expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { claimEndpoints } from '../../db/callbacks/endpoint-claims.ts'
import { callbackBody } from '../../src/core/callbacks/callback.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import { timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, request } from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { cancel, inSeconds, list, makeDue, moveDue, postBatch } from '../support/later.ts'
import { livingWorker } from '../support/living-worker.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const long = {
  contact: { value: '+4915112345678' },
  message: { type: 'text', text: { value: '’'.repeat(71) } },
}
const size = { segments: 2, encoding: 'ucs-2' }

test('an SMS has its segments in GET and in lists, by a batch too, at once and later', async () => {
  const own = await buildAccount(service)
  const ids = [
    await accept(service, own, long),
    await accept(service, own, { ...long, sendAt: inSeconds(3600) }),
    await accept(service, own, { ...long, sendAt: inSeconds(3600) }),
  ]
  const batch = await postBatch(service, own, [{ channelId: own.channelId, ...long }])
  ids.push(...batch.body.messages.map(({ requestId }: { requestId: string }) => requestId))
  await makeDue(service, ids[1] as string)
  await moveDue(service)
  for (const requestId of ids) expect(await timelineOf(service, requestId)).toMatchObject(size)
  const listed = await list(service, own)
  expect(listed.body.messages).toHaveLength(4)
  for (const one of listed.body.messages) expect(one).toMatchObject(size)
})

test('a message that is no SMS has none', async () => {
  const requestId = await accept(service, account, {
    contact: { type: 'email', value: 'ann@example.com' },
    message: { type: 'text', text: { value: 'Hello' } },
  })
  expect(await timelineOf(service, requestId)).toMatchObject({ segments: null, encoding: null })
})

test('a callback has the segments of its send', async () => {
  const own = await buildAccount(service)
  const { endpointId } = await buildEndpoint(service, own.accountId, 'https://example.com/')
  await cancel(service, own, await accept(service, own, { ...long, sendAt: inSeconds(3600) }))
  await livingWorker(service, 'caller')
  const claim = { endpointId, claimId: newId(), limit: 10, except: [] }
  const [claimed] = await claimEndpoints(service.runtime.db, [claim], 'caller')
  const [callback] = claimed?.callbacks ?? []
  expect(callback && JSON.parse(callbackBody(callback)).data).toMatchObject(size)
})

test('a template in the list of its channel has the segments of its fixed text', async () => {
  const definition = { text: `Dear {{name}}, ${'’'.repeat(70)}` }
  await setTemplate(service.runtime.db, { channelId: account.channelId, name: 'greeting', definition })
  const { body } = await request(service, `/v1/channels/${account.channelId}/templates`, {
    headers: { Authorization: `Bearer ${account.apiKey}` },
  })
  expect(body.templates).toMatchObject([{ name: 'greeting', ...size }])
})
