import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  conversations,
  idempotencyKeys,
  media,
  permits,
  sandboxMessages,
  sendEvents,
  sends,
} from '../../db/schema.ts'
import { dayMs, hourMs } from '../../src/core/durations.ts'
import { mediaLinkMs } from '../../src/core/messages/media-link.ts'
import { startSweeps } from '../../workers/upkeep/sweeps.ts'
import { buildSendRow, sweepOnce } from '../support/attempts.ts'
import { type Account, buildAccount, request } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { livingWorker } from '../support/living-worker.ts'
import { buildProviderChannel } from '../support/provider-channel.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const retentionDays = 30
const mediaHours = 5

let service: TestService
/** Keeps no media after the end of its send. */
let forgetful: TestService
/** Keeps media for longer than sends. */
let hoarding: TestService
let account: Account

beforeAll(async () => {
  const days = { RETENTION_DAYS: String(retentionDays) }
  service = await startTestService({ ...days, MEDIA_RETENTION_HOURS: String(mediaHours) })
  forgetful = await startTestService({ ...days, MEDIA_RETENTION_HOURS: '0' }, service.stores)
  hoarding = await startTestService({ ...days, MEDIA_RETENTION_HOURS: '876000' }, service.stores)
  account = await buildAccount(service)
})
beforeEach(async () => {
  const tables = 'sends, send_events, permits, media, sandbox_messages, conversations, idempotency_keys'
  await service.runtime.db.$client.query(`truncate ${tables}`)
})
afterAll(async () => {
  await forgetful.stop()
  await hoarding.stop()
  await service.stop()
})

const ago = (ms: number) => new Date(Date.now() - ms)

/** A send of that age, its id made at its accept, with all that belongs to it. */
async function buildAged(
  acceptedMsAgo: number,
  finishedMsAgo: number | null,
  status = 'sent',
  channelId = account.channelId,
) {
  const { db } = service.runtime
  const acceptedAt = ago(acceptedMsAgo)
  const send = buildSendRow(
    { ...account, channelId },
    {
      requestId: uuidv7({ msecs: acceptedAt.getTime() }),
      acceptedAt,
      nextAttemptAt: new Date(Date.now() + dayMs),
      finishedAt: finishedMsAgo === null ? null : ago(finishedMsAgo),
      status: status as 'sent',
      ...(status === 'sending' && { worker: 'busy', claimId: uuidv7(), claimedAt: acceptedAt }),
    },
  )
  const { requestId } = send
  await db.insert(sends).values(send)
  await db.insert(sendEvents).values({ requestId, event: 'retry_scheduled', fields: {}, at: acceptedAt })
  await db.insert(permits).values({ ...send, attempt: 1, validUntil: acceptedAt, isProbe: false })
  await db.insert(media).values({ requestId, content: Buffer.from('media') })
  await db.insert(sandboxMessages).values({ ...send, id: uuidv7(), conversationId: uuidv7() })
  return requestId
}

/** A channel whose provider fetches media by a link. */
function buildFetching() {
  const config = { accountSid: `AC${'0a'.repeat(16)}`, authToken: 'token', from: '+15550100100' }
  return buildProviderChannel(service, account.accountId, 'twilio', config)
}

const tables = { sends, sendEvents, permits, media, sandboxMessages }

/** Which tables still know of the send. */
async function kept(requestId: string): Promise<string[]> {
  const found = await Promise.all(
    Object.entries(tables).map(async ([name, table]) => {
      const rows: { requestId: string }[] = await service.runtime.db.select().from(table)
      return rows.some((row) => row.requestId === requestId) ? name : undefined
    }),
  )
  return found.filter((name) => name !== undefined)
}

const all = Object.keys(tables)
const allButMedia = all.filter((name) => name !== 'media')

test.each(['sent', 'failed', 'uncertain'])(
  'a send that ended %s longer ago than RETENTION_DAYS goes, with all that belongs to it',
  async (status) => {
    const old = await buildAged(60 * dayMs, retentionDays * dayMs + 5000, status)
    const bystander = await buildAged(dayMs, 1000, status)
    await sweepOnce(service)
    expect(await kept(old)).toEqual([])
    expect(await kept(bystander)).toEqual(all)
  },
)

test('a send that ended more recently stays, however long ago it was accepted', async () => {
  const young = await buildAged(400 * dayMs, retentionDays * dayMs - 60_000)
  await sweepOnce(service)
  expect(await kept(young)).toEqual(allButMedia)
})

test.each(['queued', 'sending'])('a send that is %s stays with its media, however old', async (status) => {
  const unfinished = await buildAged(1000 * dayMs, null, status)
  await sweepOnce(forgetful)
  expect(await kept(unfinished)).toEqual(all)
})

test('a deleted send is answered as one that never existed', async () => {
  const gone = await buildAged(60 * dayMs, 50 * dayMs, 'failed')
  await sweepOnce(service)
  const headers = { Authorization: `Bearer ${account.apiKey}` }
  const absent = await request(service, `/v1/messages/${uuidv7()}`, { headers })
  const answer = await request(service, `/v1/messages/${gone}`, { headers })
  expect(answer.status).toBe(404)
  expect({ ...answer.body, requestId: '' }).toEqual({ ...absent.body, requestId: '' })
  for (const command of ['trace', 'replay']) {
    const { status, stdout, stderr } = await runCli(service, command, gone)
    expect({ status, stdout }).toEqual({ status: 3, stdout: '' })
    expect(stderr).toMatch(/^[^\n]*No send [^\n]*\n$/)
    expect(stderr).toContain(gone)
  }
})

test('media is deleted MEDIA_RETENTION_HOURS after the end of its send, and not before; the send stays', async () => {
  const over = await buildAged(2 * dayMs, mediaHours * hourMs + 5000)
  const notYet = await buildAged(2 * dayMs, mediaHours * hourMs - 60_000)
  await sweepOnce(service)
  expect(await kept(over)).toEqual(allButMedia)
  expect(await kept(notYet)).toEqual(all)
})

test('with MEDIA_RETENTION_HOURS of 0 media is deleted as soon as its send has ended', async () => {
  const ended = await buildAged(5000, 10)
  const unfinished = await buildAged(5000, null, 'queued')
  await sweepOnce(forgetful)
  expect(await kept(ended)).toEqual(allButMedia)
  expect(await kept(unfinished)).toEqual(all)
})

test('media that the provider fetches stays while the links to it live, even with MEDIA_RETENTION_HOURS of 0', async () => {
  const fetching = await buildFetching()
  const statuses = ['sent', 'failed', 'uncertain']
  const linked = await Promise.all(
    statuses.map((status) => buildAged(5 * hourMs, mediaLinkMs - 60_000, status, fetching)),
  )
  const over = await Promise.all(
    statuses.map((status) => buildAged(5 * hourMs, mediaLinkMs + 5000, status, fetching)),
  )
  const ofOthers = await buildAged(5 * hourMs, mediaLinkMs - 60_000)
  await sweepOnce(forgetful)
  for (const requestId of linked) expect(await kept(requestId)).toEqual(all)
  for (const requestId of [...over, ofOthers]) expect(await kept(requestId)).toEqual(allButMedia)
})

test('media that the provider fetches stays as long as any other where MEDIA_RETENTION_HOURS are more', async () => {
  const fetching = await buildFetching()
  const over = await buildAged(2 * dayMs, mediaHours * hourMs + 5000, 'sent', fetching)
  const notYet = await buildAged(2 * dayMs, mediaHours * hourMs - 60_000, 'sent', fetching)
  await sweepOnce(service)
  expect(await kept(over)).toEqual(allButMedia)
  expect(await kept(notYet)).toEqual(all)
})

test('media is deleted with its send at the latest, however long MEDIA_RETENTION_HOURS are', async () => {
  const old = await buildAged(60 * dayMs, 50 * dayMs)
  const young = await buildAged(60 * dayMs, 20 * dayMs)
  await sweepOnce(hoarding)
  expect(await kept(old)).toEqual([])
  expect(await kept(young)).toEqual(all)
})

test('a conversation is deleted RETENTION_DAYS after it was closed; an open one stays, however old', async () => {
  const { db } = service.runtime
  const build = async (contactValue: string, closedMsAgo: number | null) => {
    const id = uuidv7()
    const contact = { accountId: account.accountId, contactType: 'phone', contactValue } as const
    const closedAt = closedMsAgo === null ? null : ago(closedMsAgo)
    await db.insert(conversations).values({ id, ...contact, openedAt: ago(500 * dayMs), closedAt })
    return id
  }
  await build('+4915100000001', retentionDays * dayMs + 5000)
  const closed = await build('+4915100000001', retentionDays * dayMs - 60_000)
  const open = await build('+4915100000001', null)
  await sweepOnce(service)
  const left = await db.select().from(conversations)
  expect(left.map(({ id }) => id).sort()).toEqual([closed, open].sort())
})

test('an idempotency key is deleted after 24 h, and not before', async () => {
  const { db } = service.runtime
  const build = (name: string, msAgo: number) => {
    const hash = Buffer.from(name)
    return { hash, fingerprint: hash, requestId: uuidv7(), createdAt: ago(msAgo) }
  }
  await db.insert(idempotencyKeys).values([build('old', dayMs + 5000), build('young', dayMs - 60_000)])
  await sweepOnce(service)
  const left = await db.select().from(idempotencyKeys)
  expect(left.map(({ hash }) => hash.toString())).toEqual(['young'])
})

test('several workers at once delete more than a page of everything that is due, and nothing else', async () => {
  const { db } = service.runtime
  const count = 1300
  const old = Array.from({ length: count }, () =>
    buildSendRow(account, {
      requestId: uuidv7({ msecs: Date.now() - 60 * dayMs }),
      status: 'sent',
      finishedAt: ago(50 * dayMs),
    }),
  )
  const closedAt = ago(50 * dayMs)
  const hash = (i: number) => Buffer.from(String(i))
  await db.insert(sends).values(old)
  await db.insert(media).values(old.map(({ requestId }) => ({ requestId, content: Buffer.from('x') })))
  await db
    .insert(conversations)
    .values(old.map(({ requestId: id }) => ({ ...buildSendRow(account), id, closedAt })))
  await db.insert(idempotencyKeys).values(
    old.map(({ requestId }, i) => ({
      hash: hash(i),
      fingerprint: hash(i),
      requestId,
      createdAt: closedAt,
    })),
  )
  const young = await buildAged(dayMs, 1000)

  const heartbeat = await livingWorker(service, 'sweeper')
  const loggedBefore = service.logs.length
  const sweeps = Array.from({ length: 4 }, () => startSweeps(service.runtime, heartbeat, () => []))
  await eventually('what is old removed', async () => {
    const left = await Promise.all(
      [sends, media, conversations, idempotencyKeys].map((table) => db.$count(table)),
    )
    return left.join() === '1,1,0,0'
  })
  await Promise.all(sweeps.map((sweep) => sweep.stop()))
  expect(await kept(young)).toEqual(all)
  const logged = service.logs.slice(loggedBefore)
  expect(logged.filter(({ event }) => event === 'trim_failed')).toEqual([])
  const counts = logged.filter(({ event, what }) => event === 'trimmed' && what === 'idempotencyKeys')
  expect(counts.reduce((sum, line) => sum + Number(line.count), 0)).toBe(count)
})
