import { eq } from 'drizzle-orm'
import pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished } from 'vitest'
import { idempotencyKeys, sends } from '../../db/schema.ts'
import { hashIdempotencyKey } from '../../src/core/requests/idempotency-key.ts'
import type { Answer } from '../support/answer.ts'
import { type Account, post, request } from '../support/builders.ts'
import { inTime, requestIdForm } from '../support/expect-error.ts'
import type { TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

export type Sender = Pick<Account, 'apiKey' | 'channelId'>

export function newKey(): string {
  return `key-${uuidv7()}`
}

export function postKeyed(service: TestService, account: Sender, key: string, body: unknown) {
  return post(service, account, body, { 'Idempotency-Key': key })
}

/** Posts with the key on the route that has the channel in the body. */
export function postKeyedInBody(service: TestService, account: Sender, key: string, body: object) {
  return request(service, '/v1/messages', {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${account.apiKey}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
    },
    body: JSON.stringify({ channelId: account.channelId, ...body }),
  })
}

/** @returns the id of the accepted send. The answer must not be a repeat. */
export function expectAccepted(answer: Answer): string {
  expect(answer.status, JSON.stringify(answer.body)).toBe(202)
  expect(answer.body).toStrictEqual({ requestId: expect.stringMatching(requestIdForm) })
  expect(answer.headers.get('X-Request-Id')).toBe(answer.body.requestId)
  expect(answer.headers.get('Idempotent-Replayed')).toBeNull()
  return answer.body.requestId
}

export function expectReplay(answer: Answer, requestId: string): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(202)
  expect(answer.body).toStrictEqual({ requestId })
  expect(answer.headers.get('X-Request-Id')).toBe(requestId)
  expect(answer.headers.get('Idempotent-Replayed')).toBe('true')
}

/** Expects that exactly one of the answers to one key is the first, and that all others repeat it. @returns its requestId. */
export function expectOneSend(answers: Answer[]): string {
  const firsts = answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === null)
  expect(firsts.map(({ status, body }) => [status, body.message])).toEqual([[202, undefined]])
  const requestId = expectAccepted(firsts[0] as Answer)
  for (const answer of answers) if (answer !== firsts[0]) expectReplay(answer, requestId)
  return requestId
}

/** The sends of an account, in the order of acceptance. */
export function sendsOf({ runtime }: TestService, { accountId }: Pick<Account, 'accountId'>) {
  return runtime.db.select().from(sends).where(eq(sends.accountId, accountId)).orderBy(sends.seq)
}

/** The stored row of an account's key. */
export async function keptOf(service: TestService, { accountId }: Account, key: string) {
  const hash = Buffer.from(hashIdempotencyKey(accountId, key), 'hex')
  const { db } = service.runtime
  const [row] = await db.select().from(idempotencyKeys).where(eq(idempotencyKeys.hash, hash))
  return row
}

/** Makes a key as old as it would be after that time. */
export async function ageKey(service: TestService, account: Account, key: string, bySeconds: number) {
  const { rowCount } = await service.runtime.db.$client.query(
    `update idempotency_keys set created_at = created_at - $2 * interval '1 s' where hash = decode($1, 'hex')`,
    [hashIdempotencyKey(account.accountId, key), bySeconds],
  )
  expect(rowCount).toBe(1)
}

/** Points that the account's requests have used up in this window, those beyond the limit included. */
export async function pointsUsed({ runtime }: TestService, { accountId }: Account): Promise<number> {
  const counts = runtime.shards.map(async ({ redis }) => {
    const [name] = await redis.keys(`*:rate:${accountId}`)
    return name === undefined ? 0 : Number(await redis.get(name))
  })
  return (await Promise.all(counts)).reduce((sum, some) => sum + some, 0)
}

/** The key as another request would hold it that is about to be recorded under it, and then isn't. */
export async function holdKey(service: TestService, account: Account, key: string) {
  const client = new pg.Client({ connectionString: service.stores.databaseUrl })
  await client.connect()
  await client.query('begin')
  await client.query(
    `insert into idempotency_keys (hash, fingerprint, request_id) values (decode($1, 'hex'), '', $2)`,
    [hashIdempotencyKey(account.accountId, key), uuidv7()],
  )
  return { giveUp: endedOnce(client) }
}

/** Until then PostgreSQL records no send, and answers all other statements. */
export async function holdInserts(service: TestService): Promise<{ release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: service.stores.databaseUrl })
  await client.connect()
  await client.query('begin; lock table sends in share row exclusive mode')
  return { release: endedOnce(client) }
}

/** At the end of the test at the latest: the next try needs what it holds. */
function endedOnce(client: pg.Client): () => Promise<void> {
  let ended: Promise<void> | undefined
  const end = () => {
    ended ??= client.end()
    return ended
  }
  onTestFinished(end)
  return end
}

/** Shorter than the time that a request may wait to be recorded. */
const longestHoldMs = 600

/**
 * Makes requests that all have come past the look-up of their keys before the first of them is recorded, but for those
 * that a busy machine brings too late. They have to be the account's only ones in this window.
 */
export async function raceToInsert(
  service: TestService,
  account: Account,
  requests: (() => Promise<Answer>)[],
): Promise<Answer[]> {
  const hold = await holdInserts(service)
  const answers = Promise.all(requests.map((send) => send()))
  const haveCome = async () => (await pointsUsed(service, account)) >= requests.length
  await eventually('all requests', haveCome, longestHoldMs).catch(() => {})
  await hold.release()
  return inTime(await answers)
}
