import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { holdChannel } from '../../db/accounts/channels.ts'
import { createFlow } from '../../db/accounts/flows.ts'
import { sends } from '../../db/schema.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { buildSendRow } from '../support/attempts.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { getPage, type Page, postForm } from '../support/pages.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let admin: TestAdmin
let account: Account

const dayMs = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * dayMs)

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

const list = (fields: Record<string, string>) => getPage(`${admin.url}/sends?${new URLSearchParams(fields)}`)
const idsIn = ({ html }: Page) =>
  [...html.matchAll(/<a href="\/support\/([0-9a-f-]{36})">/g)].map(([, id]) => id)

function formIn({ html }: Page, button: RegExp): Record<string, string> {
  const form = html.split('<form').find((part) => button.test(part)) ?? ''
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  return Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]))
}
const cancels = (fields: Record<string, string>) => postForm(`${admin.url}/sends/cancel`, fields)
/** Three sends that are due tomorrow, one of them accepted long ago, and one that is due next week. */
async function scheduled() {
  account = await buildAccount(service)
  const at = (days: number) => accept(service, account, { ...textBody(), sendAt: inDays(days).toISOString() })
  const tomorrow = [await at(1), await at(1), await at(1)]
  const later = await at(7)
  await service.runtime.db.$client.query(
    `update scheduled_sends set accepted_at = now() - interval '3 days' where request_id = $1`,
    [tomorrow[0]],
  )
  return { tomorrow, later }
}

describe('a list without a time', () => {
  test.each(['', 'sent', 'failed'])('has sends of any age: %j', async (status) => {
    account = await buildAccount(service)
    const acceptedAt = inDays(-20)
    const end = { attempt: 1, acceptedAt, finishedAt: acceptedAt }
    const old = buildSendRow(account, {
      ...end,
      ...(status === 'failed' ? { status, failure: 'away' } : { status: 'sent' }),
    })
    await service.runtime.db.insert(sends).values([old])
    const page = await list({ accountId: account.accountId, status })
    expect(idsIn(page)).toEqual([old.requestId])
    const csv = await getPage(
      `${admin.url}/sends.csv?${new URLSearchParams({ accountId: account.accountId, status })}`,
    )
    expect(csv.html).toContain(old.requestId)
  })

  test('has scheduled sends of any age, and cancels all that are due in a time, however long ago they were accepted', async () => {
    const { tomorrow, later } = await scheduled()
    const asked = {
      accountId: account.accountId,
      status: 'scheduled',
      dueFrom: inDays(0.5).toISOString(),
      dueTo: inDays(2).toISOString(),
    }
    const page = await list(asked)
    expect(new Set(idsIn(page))).toEqual(new Set(tomorrow))
    const confirmation = await cancels(formIn(page, /Cancel this list/))
    expect(confirmation.text).toContain('Cancel 3 messages?')
    const times =
      /Scheduled sends of the account Test, due from [-\d]+ [:\d]+ UTC, due before [-\d]+ [:\d]+ UTC\./
    expect(confirmation.text).toMatch(times)
    expect(confirmation.text).toContain('The filter leaves out:')
    expect(confirmation.text).toContain('1 more scheduled send due at another time')
    const done = await cancels(formIn(confirmation, /name="confirmed"/))
    expect(done.text).toContain('Canceled: 3 messages')
    expect(idsIn(await list({ accountId: account.accountId, status: 'scheduled' }))).toEqual([later])
  })
})

test('a confirmation counts what each filter leaves out, and what several leave out', async () => {
  const { tomorrow } = await scheduled()
  const asked = {
    accountId: account.accountId,
    status: 'scheduled',
    acceptedFrom: inDays(-1).toISOString(),
    dueTo: inDays(2).toISOString(),
  }
  await service.runtime.db.$client.query(
    `insert into scheduled_sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                                  close_conversation, accepted_at, send_at)
     select uuidv7(), account_id, channel_id, contact_type, contact_value, message_type, message, close_conversation,
            now() - interval '2 days', now() + interval '9 days'
     from scheduled_sends where request_id = $1`,
    [tomorrow[0]],
  )
  const { text } = await cancels(asked)
  expect(text).toContain('Cancel 2 messages?')
  expect(text).toContain('1 more scheduled send accepted at another time')
  expect(text).toContain('1 more scheduled send due at another time')
  expect(text).toContain('1 more scheduled send for several of these reasons')
  const whole = await cancels({ accountId: account.accountId, status: 'scheduled' })
  expect(whole.text).toContain('Cancel 5 messages?')
  expect(whole.text).not.toContain('leaves out')
})

test('the confirmation of a replay says what its filter leaves out', async () => {
  account = await buildAccount(service)
  const end = { status: 'failed', failure: 'away', attempt: 1 } as const
  const rows = [0, 0, 5].map((days) => {
    const at = inDays(-days - 1)
    return buildSendRow(account, { ...end, acceptedAt: at, finishedAt: at })
  })
  await service.runtime.db.insert(sends).values(rows)
  const { text } = await postForm(`${admin.url}/sends/replay`, {
    accountId: account.accountId,
    status: 'failed',
    acceptedFrom: inDays(-3).toISOString(),
  })
  expect(text).toContain('Send 2 messages again?')
  expect(text).toContain('1 more failed send accepted at another time')
})

test('queued sends are listed by the time of their next attempt', async () => {
  account = await buildAccount(service)
  await holdChannel(service.runtime.db, account.channelId, 'for a test')
  const [now, later] = [
    await accept(service, account, textBody()),
    await accept(service, account, textBody()),
  ]
  await service.runtime.db.$client.query(
    `update sends set next_attempt_at = now() + interval '2 hours' where request_id = $1`,
    [later],
  )
  const scheduledOne = await accept(service, account, { ...textBody(), sendAt: inDays(0.125).toISOString() })
  const own = { accountId: account.accountId }
  const inAnHour = inDays(1 / 24).toISOString()
  expect(idsIn(await list({ ...own, status: 'queued', dueFrom: inAnHour }))).toEqual([later])
  expect(idsIn(await list({ ...own, status: 'queued', dueTo: inAnHour }))).toEqual([now])
  expect(idsIn(await list({ ...own, dueFrom: inAnHour }))).toEqual([scheduledOne, later])
  const csv = await getPage(`${admin.url}/sends.csv?${new URLSearchParams({ ...own, dueFrom: inAnHour })}`)
  expect(csv.html).not.toContain(now)
  expect(csv.html).toContain(later)
  const refused = await list({ ...own, status: 'failed', dueFrom: inAnHour })
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('only queued and scheduled')])
})

test('a longer list says how many sends it has', async () => {
  account = await buildAccount(service)
  const rows = Array.from({ length: 60 }, () =>
    buildSendRow(account, { status: 'sent', attempt: 1, finishedAt: new Date() }),
  )
  await service.runtime.db.insert(sends).values(rows)
  const first = await list({ accountId: account.accountId })
  expect(first.text).toContain('60 sends')
  const [, next = ''] = /<a class="button" href="([^"]+)">Older/.exec(first.html) ?? []
  expect((await getPage(admin.url + next.replaceAll('&amp;', '&'))).text).toContain('60 sends')
})

describe('an account, a channel or a flow of a filter', () => {
  test('may be a name: a flow, too, of the account of the list where several have the name', async () => {
    const { db } = service.runtime
    const [own, other] = [await buildAccount(service), await buildAccount(service)]
    const flows = [
      await createFlow(db, own.accountId, 'Order mails'),
      await createFlow(db, other.accountId, 'Order mails'),
    ]
    const made: string[] = []
    for (const [by, flowId] of [
      [own, flows[0]],
      [other, flows[1]],
    ] as const)
      made.push(await accept(service, by, { ...textBody(), flowId }))
    const page = await list({ accountId: own.accountId, flowId: 'Order mails' })
    expect(idsIn(page)).toEqual([made[0]])
    expect(page.text).toContain('in the flow Order mails')
    const several = await list({ flowId: 'Order mails' })
    expect(several.status).toBe(404)
    expect(several.text).toContain(flows[1])
    const foreign = await list({ accountId: own.accountId, flowId: flows[1] ?? '' })
    expect([foreign.status, foreign.text]).toEqual([404, expect.stringContaining('the account has no flow')])
  })

  const absent = '01a1fde1-ea47-76ae-9a8d-559e0203a63f'
  test.each(['No such one', absent, 'No such\0one'])(
    'is refused where there is none, never an empty list: %j',
    async (text) => {
      account = await buildAccount(service)
      for (const field of ['accountId', 'channelId', 'flowId']) {
        for (const path of ['sends', 'sends.csv']) {
          const page = await getPage(`${admin.url}/${path}?${new URLSearchParams({ [field]: text })}`)
          expect([400, 404]).toContain(page.status)
          expect(page.text).toMatch(/no (account|channel|flow) has this id or name/)
        }
        const filters = { accountId: account.accountId, status: 'failed', [field]: text }
        for (const action of ['replay', 'cancel']) {
          const page = await postForm(`${admin.url}/sends/${action}`, {
            ...filters,
            status: action === 'cancel' ? 'queued' : 'failed',
          })
          expect(page.status).toBe(400)
          expect(page.text).toMatch(/no (account|channel|flow) has this id or name/)
        }
      }
      for (const path of ['channels', 'endpoints', 'refused', ''])
        expect((await getPage(`${admin.url}/${path}?${new URLSearchParams({ account: text })}`)).status).toBe(
          404,
        )
    },
  )
})

test('failures are listed by whose fault they were, also in a flow by its name, and what went wrong leads to these', async () => {
  const { db } = service.runtime
  const own = await buildAccount(service)
  const flowId = await createFlow(db, own.accountId, 'Fault mails')
  const [bySender, byRecipient] = (['sender', 'recipient'] as const).map((fault) => ({
    ...buildSendRow(own, { attempt: 1, status: 'failed', failure: 'refused', finishedAt: new Date() }),
    attemptRecord: {
      attempt: 1,
      outcome: 'rejected',
      fault,
      reason: 'refused',
      durationMs: 1,
      providerStatus: null,
      providerCode: null,
      providerMessageId: null,
    } as const,
    flowId,
  }))
  if (!bySender || !byRecipient) throw new Error('two sends')
  await db.insert(sends).values([bySender, byRecipient])
  expect(idsIn(await list({ flowId: 'Fault mails', status: 'failed', fault: 'sender' }))).toEqual([
    bySender.requestId,
  ])
  const today = await getPage(`${admin.url}/?account=${own.accountId}`)
  const links = [...today.html.matchAll(/href="(\/sends\?[^"]*fault=[^"]*)">(\d+)</g)]
  expect(links).toHaveLength(2)
  for (const [, link = '', count] of links)
    expect(idsIn(await getPage(admin.url + link.replaceAll('&amp;', '&')))).toHaveLength(Number(count))
  const trial = await postForm(`${admin.url}/sends/replay`, {
    accountId: own.accountId,
    status: 'failed',
    fault: 'sender',
    includeRefused: 'yes',
  })
  expect(trial.text).toContain('Send 1 message again?')
})

test('a list of an account or a reference alone offers what applies: to replay what failed, to cancel what waits', async () => {
  const own = await buildAccount(service)
  await accept(service, own, { ...textBody(), sendAt: inDays(1).toISOString(), reference: 'order 12' })
  const failed = buildSendRow(own, { attempt: 1, status: 'failed', failure: 'away', finishedAt: new Date() })
  await service.runtime.db.insert(sends).values([failed])
  const page = await list({ accountId: own.accountId })
  const replay = formIn(page, /Replay what failed/)
  expect(replay).toEqual({ accountId: own.accountId, status: 'failed' })
  expect((await postForm(`${admin.url}/sends/replay`, replay)).text).toContain('Send 1 message again?')
  const cancel = formIn(await list({ reference: 'order 12' }), /Cancel what is scheduled/)
  expect((await cancels(cancel)).text).toContain('Cancel 1 message?')
  expect((await list({ accountId: own.accountId, status: 'sent' })).text).not.toContain('what failed')
})
