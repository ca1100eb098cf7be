import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { holdChannel, updateChannel } from '../../db/accounts/channels.ts'
import { createFlow } from '../../db/accounts/flows.ts'
import { setTemplate } from '../../db/accounts/templates.ts'
import { recordAudit } from '../../db/audit/record.ts'
import { recordRefused } from '../../db/audit/refused.ts'
import { disableEndpoint } from '../../db/callbacks/endpoints.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  buildKey,
  buildWebhookChannel,
  textBody,
} from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { expectOnlyOurMarkup, getPage, type Page, postForm } from '../support/pages.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { answer, openWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

/** Texts that break out of a text, an attribute in either quotes, a title, a script or a comment, and a link that runs. */
const plant = (where: string) =>
  `${where}'"><script>alert(1)</script><img src=x onerror=alert(2)></title>--> javascript:alert(3) &lt;b&gt;`

let service: TestService
let admin: TestAdmin
let account: Account
let hook: WebhookReceiver
let hookChannelId: string

beforeAll(async () => {
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  })
  admin = await startTestAdmin(service, { SUPPORT_SHOW_CONTENT: 'true' })
  hook = await openWebhookReceiver()
  const { db } = service.runtime
  const { channelId } = await buildAccount(service)
  const accountId = await createAccount(db, plant('account'))
  const { apiKey, keyId } = await buildKey(service, accountId)
  account = { accountId, apiKey, keyId, channelId, flowId: await createFlow(db, accountId, plant('flow')) }
  const url = hook.at(
    answer(200, { 'content-type': 'application/json' }, JSON.stringify({ id: plant('answer') })),
  )
  hookChannelId = await buildWebhookChannel(service, accountId, url, 'hold', { name: plant('channel') })
  await service.startWorker(plant('worker'))
})

afterAll(async () => {
  await admin.stop()
  await service.stop()
  await hook.stop()
})

/** All that was planted there is to be read, and none of it is markup. */
function expectPlantedAsText(page: Page, ...places: string[]): void {
  expectOnlyOurMarkup(page.html)
  for (const place of places) expect(page.text).toContain(plant(place).replace(/\s+/g, ' '))
}

test('of a send: texts, names, the provider’s answer and the worker’s name stay text', async () => {
  const body = { ...textBody(plant('text')), flowId: account.flowId }
  const channel = { ...account, channelId: hookChannelId }
  const requestId = await accept(service, channel, {
    ...body,
    contact: { ...body.contact, name: plant('contact') },
  })
  await finishedTimeline(service, requestId, account.apiKey)

  const page = await getPage(`${admin.url}/support/${requestId}`)
  expect(page.status).toBe(200)
  expectPlantedAsText(page, 'text', 'account', 'flow', 'channel', 'answer')
})

test('of what the sandbox received: text, template, variables, file name, caption, link and contact stay text', async () => {
  const { db } = service.runtime
  const sandboxId = await buildChannel(service, account.accountId)
  await updateChannel(db, sandboxId, { name: plant('channel') })
  await setTemplate(db, {
    channelId: sandboxId,
    name: plant('name'),
    definition: { text: `{{key}} ${plant('template')}` },
  })
  const channel = { ...account, channelId: sandboxId }
  const { contact } = textBody()
  const media = { mediaType: 'document', base64: Buffer.from(plant('file')).toString('base64') }
  const plantedLink = plant('link').replaceAll(' ', '')
  const messages = [
    { type: 'text', text: { value: plant('text') } },
    {
      type: 'template',
      template: { name: plant('name'), variables: [{ key: 'key', value: plant('variable') }] },
    },
    {
      type: 'template',
      template: {
        name: plant('loose'),
        variables: [{ key: plant('key').slice(0, 64), value: plant('unrendered') }],
      },
    },
    {
      type: 'media',
      media: { ...media, filename: plant('filename').replaceAll('/', '|'), caption: plant('caption') },
    },
    { type: 'media', media: { mediaType: 'image', mediaUrl: `https://example.com/?${plantedLink}` } },
  ]
  for (const message of messages) {
    const requestId = await accept(service, channel, {
      contact: { ...contact, name: plant('contact') },
      message,
    })
    await finishedTimeline(service, requestId, account.apiKey)
    expectOnlyOurMarkup((await getPage(`${admin.url}/support/${requestId}`)).html)
  }
  const page = await getPage(`${admin.url}/inbox`)
  expectPlantedAsText(
    page,
    'text',
    'template',
    'variable',
    'loose',
    'unrendered',
    'caption',
    'contact',
    'channel',
  )
  expect(page.text).toContain(plantedLink)
})

test('of what is pasted or asked for: it comes back as text only', async () => {
  for (const page of [
    await postForm(`${admin.url}/support`, { q: plant('pasted') }),
    await getPage(`${admin.url}/support?q=${encodeURIComponent(plant('pasted'))}`),
    await getPage(`${admin.url}/support/${encodeURIComponent(plant('pasted'))}`),
  ]) {
    expect(page.status).toBe(404)
    expectOnlyOurMarkup(page.html)
  }
  const fields = [
    'accountId',
    'channelId',
    'status',
    'delivery',
    'reason',
    'providerCode',
    'flowId',
    'reference',
    'contact',
    'messageId',
    'acceptedFrom',
    'acceptedTo',
    'after',
  ]
  for (const field of fields) {
    const asked = { contact: '+4915100000000', [field]: plant(`asked ${field}`) }
    for (const page of [
      await postForm(`${admin.url}/sends`, asked),
      await getPage(`${admin.url}/sends?${new URLSearchParams({ [field]: plant(`asked ${field}`) })}`),
      await getPage(`${admin.url}/suppressions?${new URLSearchParams({ [field]: plant(`asked ${field}`) })}`),
      await getPage(
        `${admin.url}/contact?${new URLSearchParams({ accountId: account.accountId, [field]: plant('asked') })}`,
      ),
      await postForm(`${admin.url}/sends/replay`, {
        channelId: account.channelId,
        status: 'failed',
        [field]: plant('asked'),
      }),
      await postForm(`${admin.url}/sends/cancel`, {
        channelId: account.channelId,
        status: 'queued',
        [field]: plant('asked'),
      }),
    ]) {
      expect(page.status).toBeLessThan(500)
      expectOnlyOurMarkup(page.html)
    }
  }
  expectOnlyOurMarkup(
    (await getPage(`${admin.url}/inbox?before=${encodeURIComponent(plant('before'))}`)).html,
  )
  expectOnlyOurMarkup((await getPage(`${admin.url}/${encodeURIComponent(plant('path'))}`)).html)
})

test('of who did what, and of refused requests: names, targets, details, messages and what is filtered by stay text', async () => {
  const { db } = service.runtime
  const { accountId, keyId } = account
  await recordAudit(db, {
    by: plant('person'),
    via: 'cli',
    address: plant('address'),
    action: 'channel.hold',
    target: plant('target'),
    details: { [plant('detail')]: plant('why'), list: [plant('item')] },
  })
  const changes = await getPage(`${admin.url}/audit`)
  expectPlantedAsText(changes, 'person', 'address', 'target', 'detail', 'why', 'item')
  await recordRefused(db, [
    {
      ...{ requestId: newId(), keyId, at: new Date(), status: 400 },
      ...{ message: plant('message'), route: plant('route'), fields: [plant('field')] },
    },
  ])
  const requests = await getPage(`${admin.url}/refused?${new URLSearchParams({ account: accountId })}`)
  expectPlantedAsText(requests, 'account', 'message', 'route', 'field')
  for (const field of ['target', 'by', 'action', 'from', 'to', 'after', 'account', 'status', 'before'])
    for (const path of ['audit', 'refused'])
      expectOnlyOurMarkup(
        (await getPage(`${admin.url}/${path}?${new URLSearchParams({ [field]: plant(`asked ${field}`) })}`))
          .html,
      )
})

test('of channels, endpoints and counts: names, reasons, codes and filters stay text', async () => {
  const { db } = service.runtime
  const channelId = await buildChannel(service, account.accountId)
  await updateChannel(db, channelId, { name: plant('name'), shownConfig: { host: plant('config') } })
  await holdChannel(db, channelId, plant('held'))
  await db.$client.query(`insert into send_count_changes values ($1, $2, date_trunc('hour', now()), $3, 1)`, [
    account.accountId,
    channelId,
    `failed/${plant('fault').slice(0, 20)}/${plant('code').slice(0, 60)}`,
  ])
  const { endpointId } = await buildEndpoint(
    service,
    account.accountId,
    `https://hooks.example/?${plant('url').replaceAll(' ', '')}`,
  )
  await disableEndpoint(db, endpointId, plant('disabled'))
  expectPlantedAsText(await getPage(`${admin.url}/`), 'name', 'held', 'account', 'disabled')
  expectPlantedAsText(await getPage(`${admin.url}/channels`), 'name', 'held', 'account')
  expectPlantedAsText(
    await getPage(`${admin.url}/channels/${channelId}`),
    'name',
    'held',
    'account',
    'config',
  )
  expectPlantedAsText(await getPage(`${admin.url}/endpoints`), 'account', 'disabled')
  expectOnlyOurMarkup((await getPage(`${admin.url}/endpoints/${endpointId}`)).html)
  for (const path of [
    '/?account=',
    '/?span=',
    '/channels?name=',
    '/channels?account=',
    '/channels?after=',
    '/endpoints?account=',
  ])
    expectOnlyOurMarkup((await getPage(admin.url + path + encodeURIComponent(plant('asked')))).html)
})

test('of a list, a contact’s page and a suppression list: names, references and reasons stay text', async () => {
  const reference = plant('reference')
  const body = { ...textBody('Hello'), reference, flowId: account.flowId }
  const requestId = await accept(service, { ...account, channelId: hookChannelId }, body)
  await finishedTimeline(service, requestId, account.apiKey)
  const reason = plant('reason')
  const added = await postForm(`${admin.url}/contact/suppress`, {
    requestId,
    channelId: hookChannelId,
    reason,
  })
  expect(added.status).toBe(303)
  const of = new URLSearchParams({ reference, accountId: account.accountId })
  expectPlantedAsText(await getPage(`${admin.url}/sends?${of}`), 'account', 'channel', 'reference')
  expectPlantedAsText(
    await getPage(`${admin.url}/contact?requestId=${requestId}`),
    'account',
    'channel',
    'reason',
  )
  expectPlantedAsText(
    await getPage(`${admin.url}/suppressions?accountId=${account.accountId}`),
    'account',
    'channel',
    'reason',
  )
  expectPlantedAsText(await postForm(`${admin.url}/support`, { q: plant('channel') }), 'channel')
})

test('a redirect leads to our own pages only, whatever was asked for', async () => {
  for (const pasted of [
    '//evil.example',
    'https://evil.example/01a1fde1-ea47-76ae-9a8d-559e0203a63f\r\nX-Planted: 1',
  ]) {
    for (const page of [
      await postForm(`${admin.url}/support`, { q: pasted }),
      await postForm(`${admin.url}/sends`, { channelId: pasted }),
      await getPage(`${admin.url}/support/search?${new URLSearchParams({ channel: pasted })}`),
    ]) {
      expect(page.headers.get('location') ?? '/sends').toMatch(/^\/sends/)
      expect(page.headers.get('x-planted')).toBeNull()
    }
  }
})
