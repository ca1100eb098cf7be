import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { callbacks } from '../../db/schema.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { settleSend } from '../../db/sends/settle.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { endAttempt, loseAttempt, namesOf, timelineOf } from '../support/attempts.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { expectOnlyOurMarkup, getPage, postForm } from '../support/pages.ts'
import { buildReceipt } from '../support/receipts.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let admin: TestAdmin
let account: Account

beforeAll(async () => {
  service = await startTestService()
  admin = await startTestAdmin(service)
  account = await buildAccount(service)
})
afterAll(async () => {
  await admin.stop()
  await service.stop()
})

let workers = 0
/** A send whose worker was lost during the call: its outcome may come late. */
async function lose() {
  const requestId = await accept(service, account, textBody())
  return { requestId, attempt: await loseAttempt(service, requestId, `lost-${++workers}`) }
}
const lostSend = async () => (await lose()).requestId
const settle = (requestId: string, fields: Record<string, string>) =>
  postForm(`${admin.url}/support/${requestId}/settle`, fields)
const reason = 'their log has no such message'
test.each(['sent', 'failed'] as const)(
  'a person settles an uncertain send as %s, once, with a reason that its client sees, not the person',
  async (as) => {
    const endpoint = await buildEndpoint(service, account.accountId, 'https://example.com/')
    const requestId = await lostSend()
    const page = await getPage(`${admin.url}/support/${requestId}`)
    expect(page.html).toContain(`/support/${requestId}/settle`)
    const form = await getPage(`${admin.url}/support/${requestId}/settle`)
    expectOnlyOurMarkup(form.html)
    expect((await settle(requestId, { as })).status).toBe(400)
    expect((await settle(requestId, { as: 'lost', reason })).status).toBe(400)
    expect((await timelineOf(service, requestId)).status).toBe('uncertain')
    expect((await settle(requestId, { as, reason })).status).toBe(303)
    const timeline = await timelineOf(service, requestId)
    expect(timeline).toMatchObject({
      status: as,
      reason: as === 'sent' ? null : `settled by a person: the provider doesn't have it: ${reason}`,
    })
    expect(namesOf(timeline)).toEqual([
      'accepted',
      'attempt_started',
      'attempt_lost',
      'uncertain',
      'settled',
      as,
    ])
    expect(timeline.events).toContainEqual(expect.objectContaining({ event: 'settled', as, reason }))
    expect(JSON.stringify(timeline)).not.toContain('admin')
    const rows = await service.runtime.db
      .select()
      .from(callbacks)
      .where(eq(callbacks.endpointId, endpoint.endpointId))
    expect(rows.filter((row) => row.requestId === requestId).map(({ type }) => type)).toContain(
      `message.${as}`,
    )
    expect(service.logsOf(requestId).filter(({ event }) => event === 'settled')).toMatchObject([
      { as, reason, by: 'admin' },
    ])
    const again = await settle(requestId, { as, reason })
    expect([again.status, again.text]).toEqual([
      409,
      expect.stringContaining('only an uncertain send can be settled'),
    ])
    const { text } = await getPage(`${admin.url}/support/${requestId}`)
    expect(text).toContain('Settled by a person')
  },
)

test('a reason that names the contact is refused, since audit and log would keep it', async () => {
  const requestId = await lostSend()
  const { contact } = await timelineOf(service, requestId)
  const named = `${contact.value.slice(1, 4)} ${contact.value.slice(4)} has it`
  const { status, text } = await settle(requestId, { as: 'sent', reason: named })
  expect([status, text]).toEqual([400, expect.stringContaining('names the contact')])
  const { stderr } = await runCli(service, 'settle', requestId, '--as-sent', '--reason', named)
  expect(stderr).toContain('Fix --reason: The reason names the contact')
  expect((await timelineOf(service, requestId)).status).toBe('uncertain')
})

test('the command settles, needs one of both answers and a reason, and refuses what is not uncertain', async () => {
  const requestId = await lostSend()
  const why = ['--reason', reason]
  for (const faulty of [
    [requestId, ...why],
    [requestId, '--as-sent', '--as-failed', ...why],
    [requestId, '--as-sent'],
  ])
    expect((await runCli(service, 'settle', ...faulty)).stdout).toBe('')
  const { stdout } = await runCli(service, 'settle', requestId, '--as-failed', ...why)
  expect(JSON.parse(stdout)).toEqual({ requestId, status: 'failed' })
  const again = await runCli(service, 'settle', requestId, '--as-sent', ...why)
  expect(again.stderr).toContain('only an uncertain send can be settled')
})

test('of two who settle at once, one does; a settled failure is replayed like any', async () => {
  const { db } = service.runtime
  const requestId = await lostSend()
  const settled = await Promise.all([
    settleSend(db, requestId, 'failed', reason),
    settleSend(db, requestId, 'sent', reason),
    settleSend(db, requestId, 'failed', reason),
  ])
  expect(settled.filter(Boolean)).toHaveLength(1)
  const failed = await lostSend()
  await settleSend(db, failed, 'failed', reason)
  expect(await replaySend(db, failed)).toBe(true)
  const timeline = await timelineOf(service, failed)
  expect(namesOf(timeline)).toEqual([
    'accepted',
    'attempt_started',
    'attempt_lost',
    'uncertain',
    'settled',
    'failed',
    'replayed',
  ])
})

test('a receipt after it counts as for any send: one that arrived makes a settled failure sent', async () => {
  const { db } = service.runtime
  const requestId = await lostSend()
  await settleSend(db, requestId, 'failed', reason)
  await recordReceipts(db, [buildReceipt(requestId, account.channelId, 'delivered')])
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', delivery: 'delivered' })
})

test('a late success makes a settled failure sent, and changes nothing of one that was settled as sent', async () => {
  const { db } = service.runtime
  for (const as of ['failed', 'sent'] as const) {
    const { requestId, attempt } = await lose()
    await settleSend(db, requestId, as, reason)
    await endAttempt(service, attempt, { outcome: 'sent', providerStatus: 200, providerMessageId: 'late' })
    await eventually('the late outcome', async () =>
      namesOf(await timelineOf(service, requestId)).includes('attempt_finished'),
    )
    const timeline = await timelineOf(service, requestId)
    expect(timeline.status).toBe('sent')
    expect(namesOf(timeline).filter((name) => name === 'attempt_finished')).toHaveLength(1)
    const rows = await db.select().from(callbacks).where(eq(callbacks.requestId, requestId))
    expect(
      new Set(rows.filter(({ type }) => type === 'message.sent').map(({ sequence }) => sequence)).size,
    ).toBe(1)
  }
})
