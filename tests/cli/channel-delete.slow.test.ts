import { eq } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { holdChannel, resumeChannel, updateChannel } from '../../db/accounts/channels.ts'
import { deleteChannel, failSendsOfDeletedChannels } from '../../db/accounts/deleted-channels.ts'
import { channels, permits, templates } from '../../db/schema.ts'
import { readBacklog } from '../../db/sends/backlog.ts'
import { newKey, postKeyed } from '../api/keyed.ts'
import { startTestAdmin } from '../support/admin.ts'
import type { Answer } from '../support/answer.ts'
import { beginAttempt, endAttempt, received, timelineOf } from '../support/attempts.ts'
import { acceptBatch, manyOf } from '../support/batches.ts'
import {
  type Account,
  accept,
  buildAccount,
  newContact,
  post,
  request,
  sameBody,
  textBody,
} from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { getPage, postForm } from '../support/pages.ts'
import { finishedTimeline, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const reason = 'its channel was deleted'
const notFound = { statusCode: 404, error: 'Not Found', message: 'Channel not found' }

let service: TestService
let workers: { stop(): Promise<void> }[] = []

beforeAll(async () => {
  service = await startTestService()
})
afterEach(async () => {
  for (const worker of workers) await worker.stop()
  workers = []
})
afterAll(() => service.stop())

async function startWorker() {
  workers.push(await service.startWorker())
}

const remove = (channelId: string) => runCli(service, 'channel', 'delete', channelId)

async function ask(...args: string[]) {
  const { status, stdout, stderr } = await runCli(service, ...args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

/** Every API process keeps what it knows of a channel for at most 2 s. */
async function refused(account: Account): Promise<Answer> {
  return await eventually('the API to notice', async () => {
    const answer = await post(service, account, textBody())
    return answer.status !== 202 && answer
  })
}

test.concurrent('its waiting sends fail with a reason, and it is answered as absent from then on', async () => {
  const account = await buildAccount(service)
  const { channelId } = account
  await ask(...`template set --channel ${channelId} --name hello --definition`.split(' '), '{"text":"Hello"}')
  await holdChannel(service.runtime.db, channelId, 'so that they wait')
  const contact = newContact()
  const waiting = [
    await accept(service, account, textBody('first', contact)),
    await accept(service, account, textBody('second', contact)),
    await accept(service, account, textBody()),
  ]

  const { status, stdout } = await remove(channelId)

  expect({ status, answer: JSON.parse(stdout) }).toEqual({ status: 0, answer: { channelId, failed: 3 } })
  for (const requestId of waiting) {
    const timeline = await timelineOf(service, requestId)
    expect(timeline).toMatchObject({ status: 'failed', channelId, attempts: 0 })
    expect(timeline.events.at(-1)).toEqual({ at: timeline.finishedAt, event: 'failed', reason })
  }
  expect((await refused(account)).body).toEqual({ ...notFound, requestId: expect.any(String) })
  const inBody = await request(service, '/v1/messages', {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ channelId, ...textBody() }),
  })
  expect(inBody.body).toEqual({ ...notFound, requestId: expect.any(String) })
  expect(await ask('channel', 'list', '--account', account.accountId)).toEqual({ channels: [] })
  expect(await holdChannel(service.runtime.db, channelId, 'again')).toBe(false)
  expect(await resumeChannel(service.runtime.db, channelId)).toBe(false)
  expect(await remove(channelId)).toMatchObject({
    status: 3,
    stderr: expect.stringMatching(`^No channel ${channelId}: it was deleted at `),
  })
  for (const command of [
    ['channel', 'update', channelId, '--name', 'Again'],
    ['template', 'list', '--channel', channelId],
    ['replay', '--channel', channelId, '--status', 'failed'],
  ])
    expect(await runCli(service, ...command)).toMatchObject({
      status: 3,
      stderr: `No channel ${channelId}; see them with: outbound channel list --account ID\n`,
    })
})

test.concurrent('a repeated request that it accepted is answered as before, and makes no second send', async () => {
  const account = await buildAccount(service)
  const key = newKey()
  const first = await postKeyed(service, account, key, sameBody())
  await deleteChannel(service.runtime.db, account.channelId)
  await refused(account)
  expect((await postKeyed(service, account, newKey(), sameBody())).body).toMatchObject(notFound)

  const repeat = await postKeyed(service, account, key, sameBody())

  expect({ status: repeat.status, body: repeat.body }).toEqual({ status: 202, body: first.body })
  expect(repeat.headers.get('Idempotent-Replayed')).toBe('true')
  const stranger = await buildAccount(service)
  const foreign = await postKeyed(service, { ...stranger, channelId: account.channelId }, key, sameBody())
  expect(foreign.body).toMatchObject(notFound)
})

test('what belongs to it is deleted with it: templates, permits, an open breaker, its credentials', async () => {
  const account = await buildAccount(service)
  const { channelId } = account
  const { db } = service.runtime
  await db.insert(templates).values({ channelId, name: 'hello', definition: { text: 'Hello' } })
  const [requestId = ''] = await acceptBatch(service, manyOf(1, account))
  const permit = { requestId, channelId, attempt: 1, isProbe: true, validUntil: new Date('2100-01-01') }
  await db.insert(permits).values(permit)
  await db
    .update(channels)
    .set({ breakerOpenUntil: new Date('2100-01-01') })
    .where(eq(channels.id, channelId))
  const before = await readBacklog(db)

  await deleteChannel(db, channelId)

  expect(await db.select().from(templates).where(eq(templates.channelId, channelId))).toEqual([])
  expect(await db.select().from(permits).where(eq(permits.channelId, channelId))).toEqual([])
  const [row] = await db.select().from(channels).where(eq(channels.id, channelId))
  expect(row).toMatchObject({ breakerOpenUntil: null, sealedConfig: '', deletedAt: expect.any(Date) })
  const after = await readBacklog(db)
  const [sandboxBefore] = before.channels
  const [sandboxAfter] = after.channels
  expect(sandboxBefore?.breakersOpen).toBe(1)
  expect(sandboxAfter ?? { breakersOpen: 0, held: 0 }).toMatchObject({ breakersOpen: 0, held: 0 })
  expect(await ask('credentials', 'rotate')).toMatchObject({ rotated: 0 })
})

test('it is refused while a send is being sent, changes nothing then, and goes through once that has ended', async () => {
  const account = await buildAccount(service)
  const { channelId } = account
  const sent = await accept(service, account, textBody())
  const send = await beginAttempt(service, sent, 'slow-worker')
  const waiting = await accept(service, account, textBody())

  expect(await remove(channelId)).toEqual({
    status: 4,
    stdout: '',
    stderr: `1 of its sends is being sent: run outbound channel hold ${channelId}, and delete the channel when they have ended\n`,
  })
  expect((await timelineOf(service, waiting)).status).toBe('queued')
  expect((await post(service, account, textBody())).status).toBe(202)

  await endAttempt(service, send, { outcome: 'sent', providerMessageId: 'm1' })
  expect(JSON.parse((await remove(channelId)).stdout)).toEqual({ channelId, failed: 2 })
  expect(await timelineOf(service, sent)).toMatchObject({ status: 'sent', channelId })
})

test('a send that was accepted at the same moment fails for that reason: it is neither lost nor stuck', async () => {
  const account = await buildAccount(service)
  await deleteChannel(service.runtime.db, account.channelId)
  const ids = await acceptBatch(service, manyOf(3, account))
  await startWorker()
  for (const requestId of ids) {
    expect(await finishedTimeline(service, requestId, account.apiKey)).toMatchObject({
      status: 'failed',
      attempts: 0,
    })
    expect(service.logsOf(requestId)).toMatchObject([{ event: 'failed', reason }])
    expect(await received(service, requestId)).toEqual([])
  }
})

test('deleted in the middle of many accepts and deliveries, each of its sends ends: as sent, or for that reason', async () => {
  const account = await buildAccount(service)
  await startWorker()
  const accepted: string[] = []
  const hasAccepted = eventually('some accepts', async () => accepted.length > 30)
  const client = (async () => {
    for (;;) {
      const answer = await post(service, account, textBody())
      if (answer.status === 404) return
      if (answer.status === 202) accepted.push(answer.body.requestId)
    }
  })()
  await hasAccepted
  await eventually('a moment at which none is being sent', async () => {
    const deletion = await deleteChannel(service.runtime.db, account.channelId)
    return deletion !== undefined && 'failed' in deletion
  })
  await client
  for (const requestId of accepted) {
    const { status, events } = await finishedTimeline(service, requestId, account.apiKey)
    if (status !== 'sent') expect(events.at(-1)).toMatchObject({ event: 'failed', reason })
    expect(await received(service, requestId)).toHaveLength(status === 'sent' ? 1 : 0)
  }
})

test('a send that was being claimed at that moment, and would be tried again, fails for that reason', async () => {
  const account = await buildAccount(service)
  const { db } = service.runtime
  const requestId = await accept(service, account, textBody())
  const send = await beginAttempt(service, requestId, 'claimed-before')
  const deleted = { deletedAt: new Date(), heldAt: new Date() }
  await db.update(channels).set(deleted).where(eq(channels.id, account.channelId))

  await endAttempt(service, send, { outcome: 'retry_later', reason: 'busy' } as never)
  expect(await failSendsOfDeletedChannels(db, 10)).toMatchObject([{ requestId }])

  const { events } = await timelineOf(service, requestId)
  expect(events.map(({ event }) => event)).toEqual([
    'accepted',
    'attempt_started',
    'attempt_finished',
    'retry_scheduled',
    'failed',
  ])
})

test('the support page and the command line explain its sends, and refuse to replay them', async () => {
  const account = await buildAccount(service)
  await updateChannel(service.runtime.db, account.channelId, { name: 'Spring campaign' })
  const requestId = await accept(service, account, textBody())
  await deleteChannel(service.runtime.db, account.channelId)
  const admin = await startTestAdmin(service)
  try {
    const page = await getPage(`${admin.url}/support/${requestId}`)
    expect(page.text).toContain('Its channel was deleted while it waited. No attempt was made')
    expect(page.text).toContain('Spring campaign')
    expect(page.html).not.toContain(`/support/${requestId}/replay`)
    const confirmation = await getPage(`${admin.url}/support/${requestId}/replay`)
    expect(confirmation.status).toBe(409)
    const replayed = await postForm(`${admin.url}/support/${requestId}/replay`, {})
    expect(replayed.status).toBe(409)
    expect(replayed.text).toContain('Its channel was deleted')
  } finally {
    await admin.stop()
  }
  const { stderr } = await runCli(service, 'replay', requestId)
  expect(stderr).toContain(`The channel of ${requestId} was deleted`)
  const { stdout } = await runCli(service, 'trace', requestId)
  expect(JSON.parse(stdout)).toMatchObject({ status: 'failed', channelId: account.channelId })
})

test('an unknown channel is reported as such', async () => {
  expect(await remove('nonsense')).toMatchObject({ status: 3, stderr: expect.stringContaining('No channel') })
})
