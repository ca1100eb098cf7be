import { desc, eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { holdChannel } from '../../db/accounts/channels.ts'
import { recordAudit } from '../../db/audit/record.ts'
import { audit, sends } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { createAdminApp } from '../../src/admin/app.ts'
import type { AdminRuntime } from '../../src/admin/context.ts'
import { factory } from '../../src/admin/context.ts'
import { answerError } from '../../src/admin/errors.tsx'
import { allow } from '../../src/admin/people/allow.ts'
import { createRecordRefusal } from '../../src/admin/people/refusals.ts'
import type { AuditAction } from '../../src/core/accounts/audit.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { buildSendRow } from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { getPage, postForm } from '../support/pages.ts'
import {
  finishedTimeline,
  startTestService,
  type TestService,
  testSecrets,
  testSuppressionKey,
} from '../support/service.ts'

const rejected = '+15550100103'
let service: TestService
let admin: TestAdmin
let account: Account

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service, testSecrets)
  account = await buildAccount(service)
  await service.startWorker()
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const rowsOf = (target: string) => service.runtime.db.select().from(audit).where(eq(audit.target, target))

async function failed(channelId = account.channelId): Promise<string> {
  const requestId = await accept(service, { ...account, channelId }, textBody('Hello', rejected))
  await finishedTimeline(service, requestId, account.apiKey)
  return requestId
}

async function suppressed(): Promise<string> {
  const contact = { type: 'phone', value: newContact() } as const
  const { entry } = await addSuppression(
    service.runtime.db,
    { accountId: account.accountId, contact, channelId: null },
    null,
    testSuppressionKey,
  )
  return entry.suppressionId
}

/** The hidden fields of the forms of a page. */
const hiddenIn = (html: string) =>
  Object.fromEntries(
    [...html.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  )

const changesNothing = 'changes nothing'
/** With people, nobody is signed in here by ADMIN_PASSWORD. */
const needsPeople = 'tests/admin/manage-people.test.ts'

/** What the form of a channel always has. */
const channelRules = { onUncertain: 'hold', ordering: 'contact', autoSuppress: 'bounce', oneClick: 'off' }

/** Each route that takes a form, and the row that it leaves. */
const forms: Record<
  string,
  | typeof changesNothing
  | typeof needsPeople
  | (() => Promise<{ path: string; fields?: Record<string, string>; target: string | null; action: string }>)
> = {
  'POST /login': changesNothing,
  'POST /logout': changesNothing,
  'POST /support': changesNothing,
  'POST /sends': changesNothing,
  'POST /sends.csv': changesNothing,
  'POST /contact': changesNothing,
  'POST /me/password': needsPeople,
  'POST /me/sessions': needsPeople,
  'POST /people/new': needsPeople,
  'POST /people/role': needsPeople,
  'POST /people/password': needsPeople,
  'POST /people/sessions': needsPeople,
  'POST /people/remove': needsPeople,
  'POST /accounts/new': async () => ({
    path: '/accounts/new',
    fields: { name: 'New' },
    target: null,
    action: 'account.create',
  }),
  'POST /accounts/:accountId/limit': async () => {
    const { accountId: target } = await buildAccount(service)
    const fields = { rateLimit: '5/1' }
    return { path: `/accounts/${target}/limit`, fields, target, action: 'account.update' }
  },
  'POST /accounts/:accountId/flows': async () => ({
    path: `/accounts/${account.accountId}/flows`,
    fields: { flow: 'New' },
    target: null,
    action: 'flow.create',
  }),
  'POST /accounts/:accountId/keys/new': async () => ({
    path: `/accounts/${account.accountId}/keys/new`,
    fields: { permissions: 'usage:read' },
    target: null,
    action: 'key.create',
  }),
  'POST /accounts/:accountId/keys/:keyId/revoke': async () => {
    const { accountId, keyId: target } = await buildAccount(service)
    return { path: `/accounts/${accountId}/keys/${target}/revoke`, target, action: 'key.revoke' }
  },
  'POST /channels/new': async () => ({
    path: `/channels/new?accountId=${account.accountId}&provider=sandbox`,
    fields: { ...channelRules, name: 'New' },
    target: null,
    action: 'channel.create',
  }),
  'POST /channels/:channelId/change': async () => {
    const target = await buildChannel(service, account.accountId)
    const fields = { ...channelRules, name: 'Changed' }
    return { path: `/channels/${target}/change`, fields, target, action: 'channel.update' }
  },
  'POST /channels/:channelId/delete': async () => {
    const target = await buildChannel(service, account.accountId)
    return { path: `/channels/${target}/delete`, target, action: 'channel.delete' }
  },
  'POST /channels/:channelId/templates/set': async () => {
    const target = await buildChannel(service, account.accountId)
    const fields = { name: 'hello', definition: '{"text":"Hello"}' }
    return { path: `/channels/${target}/templates/set`, fields, target, action: 'template.set' }
  },
  'POST /channels/:channelId/try': async () => {
    const target = await buildChannel(service, account.accountId)
    const fields = { contact: newContact(), text: 'A try' }
    return { path: `/channels/${target}/try`, fields, target, action: 'channel.try' }
  },
  'POST /endpoints/new': async () => ({
    path: `/endpoints/new?accountId=${account.accountId}`,
    fields: { url: 'https://example.com/new' },
    target: null,
    action: 'endpoint.create',
  }),
  'POST /endpoints/:endpointId/change': async () => {
    const { endpointId: target } = await buildEndpoint(service, account.accountId, 'https://example.com/')
    const fields = { url: 'https://example.com/changed' }
    return { path: `/endpoints/${target}/change`, fields, target, action: 'endpoint.update' }
  },
  'POST /endpoints/:endpointId/test': async () => {
    const { endpointId: target } = await buildEndpoint(service, account.accountId, 'https://example.com/')
    return { path: `/endpoints/${target}/test`, target, action: 'endpoint.test' }
  },
  'POST /endpoints/:endpointId/rotate-secret': async () => {
    const { accountId } = await buildAccount(service)
    const { endpointId: target } = await buildEndpoint(service, accountId, 'https://example.com/')
    const fields = { overlap: '1h' }
    return { path: `/endpoints/${target}/rotate-secret`, fields, target, action: 'endpoint.rotate_secret' }
  },
  'POST /endpoints/:endpointId/delete': async () => {
    const { accountId } = await buildAccount(service)
    const { endpointId: target } = await buildEndpoint(service, accountId, 'https://example.com/')
    return { path: `/endpoints/${target}/delete`, target, action: 'endpoint.delete' }
  },
  'POST /sends/replay': async () => {
    const channelId = await buildChannel(service, account.accountId)
    await failed(channelId)
    const { accountId: target } = account
    const set = { accountId: target, channelId, status: 'failed', includeRefused: 'yes' }
    const trial = await postForm(`${admin.url}/sends/replay`, set)
    return {
      path: '/sends/replay',
      fields: { ...set, ...hiddenIn(trial.html), confirmed: 'yes' },
      target,
      action: 'list.replay',
    }
  },
  'POST /sends/cancel': async () => {
    const { accountId: target } = await buildAccount(service)
    const set = { accountId: target, status: 'scheduled' }
    const trial = await postForm(`${admin.url}/sends/cancel`, set)
    return {
      path: '/sends/cancel',
      fields: { ...set, ...hiddenIn(trial.html), confirmed: 'yes' },
      target,
      action: 'list.cancel',
    }
  },
  'POST /contact/suppress': async () => {
    const requestId = await failed()
    return {
      path: '/contact/suppress',
      fields: { requestId, reason: '' },
      target: null,
      action: 'suppression.add',
    }
  },
  'POST /contact/unsuppress': async () => {
    const target = await suppressed()
    return {
      path: '/contact/unsuppress',
      fields: { suppressionId: target, entry: target },
      target,
      action: 'suppression.remove',
    }
  },
  'POST /contact/erase': async () => {
    const other = await buildAccount(service)
    const fields = { accountId: other.accountId, contact: newContact(), confirmed: 'yes' }
    return { path: '/contact/erase', fields, target: other.accountId, action: 'contact.erase' }
  },
  'POST /suppressions/import': async () => {
    const { accountId: target } = await buildAccount(service)
    const csv = `contact,channelId,reason\n${newContact()},,\n`
    return {
      path: '/suppressions/import',
      fields: { accountId: target, csv, confirmed: 'yes' },
      target,
      action: 'suppression.import',
    }
  },
  'POST /channels/:channelId/hold': async () => {
    const target = await buildChannel(service, account.accountId)
    return { path: `/channels/${target}/hold`, fields: { reason: 'down' }, target, action: 'channel.hold' }
  },
  'POST /channels/:channelId/resume': async () => {
    const target = await buildChannel(service, account.accountId)
    return { path: `/channels/${target}/resume`, fields: { reason: 'up' }, target, action: 'channel.resume' }
  },
  'POST /support/:requestId/replay': async () => {
    const channelId = await buildChannel(service, account.accountId)
    const target = await failed(channelId)
    // Otherwise it may have failed again before the second try.
    await holdChannel(service.runtime.db, channelId, 'to keep it queued')
    return { path: `/support/${target}/replay`, target, action: 'send.replay' }
  },
  'POST /support/:requestId/settle': async () => {
    const row = buildSendRow(account, {
      status: 'uncertain',
      failure: 'no answer',
      attempt: 1,
      finishedAt: new Date(),
    })
    await service.runtime.db.insert(sends).values([row])
    const fields = { as: 'sent', reason: 'seen in their log' }
    return { path: `/support/${row.requestId}/settle`, fields, target: row.requestId, action: 'send.settle' }
  },
  'POST /support/:requestId/move': async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const target = await accept(service, account, { ...textBody(), sendAt })
    const fields = { contact: newContact() }
    return { path: `/support/${target}/move`, fields, target, action: 'send.move' }
  },
  'POST /support/:requestId/callbacks': async () => {
    const target = await failed()
    return { path: `/support/${target}/callbacks`, target, action: 'send.resend_callbacks' }
  },
  'POST /support/:requestId/cancel': async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const target = await accept(service, account, { ...textBody(), sendAt })
    return { path: `/support/${target}/cancel`, target, action: 'send.cancel' }
  },
  'POST /endpoints/:endpointId/enable': async () => {
    const { endpointId: target } = await buildEndpoint(service, account.accountId, 'https://example.com/')
    return { path: `/endpoints/${target}/enable`, target, action: 'endpoint.enable' }
  },
  'POST /endpoints/:endpointId/disable': async () => {
    const { endpointId: target } = await buildEndpoint(service, account.accountId, 'https://example.com/')
    const fields = { reason: 'gone' }
    return { path: `/endpoints/${target}/disable`, fields, target, action: 'endpoint.disable' }
  },
  'POST /endpoints/:endpointId/resend': async () => {
    const { endpointId: target } = await buildEndpoint(service, account.accountId, 'https://example.com/')
    const fields = { since: new Date(Date.now() - 60_000).toISOString().slice(0, 16) }
    return { path: `/endpoints/${target}/resend`, fields, target, action: 'endpoint.resend' }
  },
}

test('for each route that takes a form it is known whether it changes something', () => {
  const { routes } = createAdminApp(service.api as unknown as AdminRuntime)
  const taking = routes
    .filter(({ method, path }) => !['GET', 'ALL'].includes(method) && !path.startsWith('/queues/'))
    .map(({ method, path }) => `${method} ${path}`)
  expect([...new Set(taking)].sort()).toEqual(Object.keys(forms).sort())
})

const changing = Object.entries(forms).flatMap(([route, given]) =>
  typeof given === 'string' ? [] : [{ route, given }],
)

test.each(changing)(
  '$route leaves one row, with the person, from where, and on what; the log names the person too',
  async ({ given }) => {
    const { path, fields = {}, target, action } = await given()
    const rows = async () =>
      (
        await service.runtime.db
          .select()
          .from(audit)
          .where(eq(audit.action, action as AuditAction))
      ).filter((row) => target === null || row.target === target)
    expect(await rows()).toEqual([])
    const before = service.logs.length
    expect([200, 303]).toContain((await postForm(admin.url + path, fields)).status)
    expect(await rows()).toMatchObject([{ by: 'admin', via: 'page', address: '127.0.0.1', action }])
    const names = service.logs.slice(before).flatMap(({ by }) => by ?? [])
    // A list has a line for each send, and this one has none.
    expect([...new Set(names)]).toEqual(action === 'list.cancel' ? [] : ['admin'])
    // Repeating the request changes nothing where it is of one send; callbacks are sent again each time.
    if (!action.startsWith('send.') || action === 'send.resend_callbacks') return
    await postForm(admin.url + path, fields)
    expect(await rows()).toHaveLength(1)
  },
)

/** The row of a list that is changed by its second form. */
async function changedList(what: 'replay' | 'cancel', list: Record<string, string>) {
  const fields = { ...list, endedBy: new Date().toISOString(), confirmed: 'yes' }
  const { status } = await postForm(`${admin.url}/sends/${what}`, fields)
  expect(status).toBe(200)
  const [row] = await service.runtime.db.select().from(audit).orderBy(desc(audit.id)).limit(1)
  expect(row).toMatchObject({ action: `list.${what}` })
  return row
}

describe('a row of a changed list', () => {
  const since = '2026-01-02T03:04:00.000Z'

  test('says which list, by its channel’s account, and no contact, reference or words', async () => {
    const other = await buildAccount(service)
    const contact = newContact()
    const filters = { contact, reference: 'order-4711', reason: 'words of a reason' }
    const list = { channelId: other.channelId, status: 'failed', acceptedFrom: since, ...filters }
    const { target, details } =
      (await changedList('replay', { ...list, flowId: other.flowId, providerCode: '131026' })) ?? {}
    expect(target).toBe(other.accountId)
    expect(details).toEqual({
      status: 'failed',
      channelId: other.channelId,
      flowId: other.flowId,
      providerCode: '131026',
      byReference: true,
      byContact: true,
      byReason: true,
      since,
      channels: 1,
      includeExpired: false,
      includeRefused: false,
      replayed: 0,
      skippedExpired: 0,
      skippedSuppressed: 0,
      skippedGone: 0,
      skippedRefused: 0,
    })
  })

  test('has no code that may be a contact', async () => {
    const list = { channelId: account.channelId, status: 'failed', providerCode: newContact() }
    const { details } = (await changedList('replay', list)) ?? {}
    expect(details).toMatchObject({ byProviderCode: true })
    expect(JSON.stringify(details)).not.toContain(list.providerCode)
  })

  test('is of the account of its flow; of none where it names none', async () => {
    const other = await buildAccount(service)
    const ofFlow = await changedList('cancel', { flowId: other.flowId, status: 'queued', acceptedTo: since })
    expect(ofFlow).toMatchObject({ target: other.accountId })
    expect(ofFlow?.details).toMatchObject({
      status: 'queued',
      flowId: other.flowId,
      until: since,
      canceled: 0,
    })
    const ofReference = await changedList('cancel', { reference: 'order-4712', status: 'scheduled' })
    expect(ofReference).toMatchObject({ target: null, details: { byReference: true } })
  })
})

test('what another role may not do is refused, and in the audit', async () => {
  const app = factory.createApp()
  const recordRefusal = createRecordRefusal(service.runtime)
  app.use(async (c, next) => {
    c.set('person', { name: 'sue', role: 'support' })
    c.set('address', '192.0.2.7')
    c.set('recordRefusal', () => recordRefusal(c))
    await next()
  })
  app.post('/channels/:id/hold', allow('operator'), (c) => c.text('held'))
  app.onError((error, c) => answerError(c, error, service.runtime.log))
  const path = '/channels/01a1fde0-fa4b-754d-8e02-ab49c67ccb75/hold'
  const incoming = { socket: { remoteAddress: '192.0.2.7' } }
  expect((await app.request(path, { method: 'POST' }, { incoming })).status).toBe(403)
  expect(await rowsOf(path)).toMatchObject([
    { by: 'sue', via: 'page', address: '192.0.2.7', action: 'page.refused', details: { method: 'POST' } },
  ])
})

describe('the page /audit', () => {
  const page = (query: Record<string, string> = {}) =>
    getPage(`${admin.url}/audit?${new URLSearchParams(query)}`)

  const record = (by: string, target: string, more: { action?: 'channel.hold' | 'channel.resume' } = {}) =>
    recordAudit(service.runtime.db, {
      by,
      via: 'cli',
      address: 'host.example',
      action: 'channel.hold',
      target,
      ...more,
    })

  test('shows who did what, when, from where and to what, and links a send to its page', async () => {
    const target = await failed()
    await postForm(`${admin.url}/support/${target}/replay`, {})
    const { status, text, html } = await page({ target })
    expect(status).toBe(200)
    expect(text).toMatch(
      new RegExp(
        `\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d +admin +page at 127.0.0.1 +replayed a send +${target}`,
      ),
    )
    expect(html).toContain(`href="/support/${target}"`)
  })

  test('is filtered by target, person, action and time', async () => {
    await record('ann', 'channel-1')
    await record('ann', 'channel-2', { action: 'channel.resume' })
    await record('bob', 'channel-1', { action: 'channel.resume' })
    const cells = async (query: Record<string, string>) => {
      const { html } = await page(query)
      return [...html.matchAll(/<td data-label="Target"><(?:span|a href="[^"]*")>([^<]*)/g)].map(
        ([, target]) => target,
      )
    }
    expect(await cells({ target: 'channel-1' })).toEqual(['channel-1', 'channel-1'])
    expect(await cells({ by: 'ann' })).toEqual(['channel-2', 'channel-1'])
    expect(await cells({ by: 'ann', action: 'channel.hold' })).toEqual(['channel-1'])
    expect(await cells({ target: 'channel-1', by: 'bob' })).toEqual(['channel-1'])
    const minute = (ms: number) => new Date(Date.now() + ms).toISOString().slice(0, 16)
    expect(await cells({ by: 'ann', from: minute(120_000) })).toEqual([])
    expect(await cells({ by: 'ann', to: minute(-120_000) })).toEqual([])
    expect(await cells({ by: 'ann', from: minute(-120_000), to: minute(120_000) })).toHaveLength(2)
  })

  test('leads from page to page to the oldest, each change once', async () => {
    for (let n = 0; n < 120; n++) await record('many', `target-${n}`)
    const seen: string[] = []
    for (let path: string | undefined = '/audit?by=many'; path; ) {
      const { html } = await getPage(admin.url + path)
      seen.push(...[...html.matchAll(/>(target-\d+)/g)].map(([, target = '']) => target))
      path = /href="([^"]*)">Older/.exec(html)?.[1]?.replaceAll('&amp;', '&')
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, n) => `target-${119 - n}`))
  })

  test.each([{ from: 'yesterday' }, { action: 'dance' }, { after: 'x' }, { target: 'a\u0000b' }])(
    'says what is wrong with %j',
    async (query) => {
      const { status, html } = await page(query as Record<string, string>)
      expect(status).toBe(400)
      expect(html).toContain('role="alert"')
    },
  )
})

test('rows older than AUDIT_RETENTION_DAYS are removed, and no others', async () => {
  const { db } = service.runtime
  const [old, young] = [await recordAudit(db, rowOf('old')), await recordAudit(db, rowOf('young'))]
  await db.update(audit).set({ at: sql`now() - interval '366 days'` }).where(eq(audit.id, old))
  await db.update(audit).set({ at: sql`now() - interval '364 days'` }).where(eq(audit.id, young))
  const { retentionTrims } = await import('../../db/upkeep/retention.ts')
  const trims = retentionTrims({ days: 90, mediaHours: 24, callbackDays: 7, auditDays: 365, usageMonths: 25 })
  expect(await trims.audit?.(db, 100)).toBe(1)
  expect(await rowsOf('old')).toEqual([])
  expect(await rowsOf('young')).toHaveLength(1)
})

const rowOf = (target: string) =>
  ({ by: 'ann', via: 'cli', address: null, action: 'channel.hold', target }) as const
