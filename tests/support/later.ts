import { eq, sql } from 'drizzle-orm'
import { moveDueSends } from '../../db/admission/scheduled-sends.ts'
import { scheduledSends } from '../../db/schema.ts'
import type { Answer } from './answer.ts'
import { type Account, type Api, request } from './builders.ts'
import { inTime } from './expect-error.ts'
import type { TestService } from './service.ts'
import { eventually } from './wait.ts'

const headersOf = ({ apiKey }: Pick<Account, 'apiKey'>, more: Record<string, string> = {}) => ({
  Authorization: `Bearer ${apiKey}`,
  'Content-Type': 'application/json',
  ...more,
})

/** The time in so many seconds, as `sendAt` takes it. */
export const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()

/** Writes the time as clocks show it an hour east of Greenwich. */
export const eastOfGreenwich = (time: string) =>
  new Date(Date.parse(time) + 3_600_000).toISOString().replace('Z', '+01:00')

export function cancel(
  service: Api,
  by: Pick<Account, 'apiKey'>,
  requestId: string,
  body?: string,
): Promise<Answer> {
  const init = { method: 'POST', headers: headersOf(by), ...(body !== undefined && { body }) }
  return request(service, `/v1/messages/${requestId}/cancel`, init)
}

/** The answer to a request that may be repeated; again where it waited too long, as it may on a slow machine. */
export const taken = (ask: () => Promise<Answer>): Promise<Answer> =>
  eventually('an answer in time', async () => {
    const answer = await ask()
    return answer.status !== 503 && answer
  })

/** Cancels all that waits with a reference or in a flow. */
export function cancelAll(service: Api, by: Pick<Account, 'apiKey'>, body: unknown): Promise<Answer> {
  return request(service, '/v1/messages/cancel', {
    method: 'POST',
    headers: headersOf(by),
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** Moves a scheduled send to another time. */
export function move(
  service: Api,
  by: Pick<Account, 'apiKey'>,
  requestId: string,
  body: unknown,
): Promise<Answer> {
  return request(service, `/v1/messages/${requestId}`, {
    method: 'PATCH',
    headers: headersOf(by),
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** Posts a batch; each message to the account's channel, unless it names another. */
export function postBatch(
  service: Api,
  account: Pick<Account, 'apiKey' | 'channelId'>,
  messages: readonly object[],
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { channelId } = account
  return request(service, '/v1/messages/batch', {
    method: 'POST',
    headers: headersOf(account, headers),
    body: JSON.stringify({ messages: messages.map((message) => ({ channelId, ...message })) }),
  })
}

/** Posts a batch that has to be accepted. @returns the ids of its sends. */
export async function acceptAtOnce(...batch: Parameters<typeof postBatch>): Promise<string[]> {
  const [answer] = inTime([await postBatch(...batch)])
  if (answer?.status !== 202) throw new Error(`Not accepted: ${JSON.stringify(answer?.body)}`)
  return answer.body.messages.map(({ requestId }: { requestId: string }) => requestId)
}

export function list(
  service: Api,
  by: Pick<Account, 'apiKey'>,
  query: Record<string, string> = {},
): Promise<Answer> {
  return request(service, `/v1/messages?${new URLSearchParams(query)}`, { headers: headersOf(by) })
}

/** The ids of all pages, in their order. */
export async function listAll(
  service: Api,
  by: Pick<Account, 'apiKey'>,
  query: Record<string, string> = {},
  onPage: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null | undefined; after !== null; await onPage()) {
    const { status, body } = await list(service, by, { ...query, ...(after && { after }) })
    if (status !== 200) throw new Error(`Not listed: ${JSON.stringify(body)}`)
    ids.push(...body.messages.map(({ requestId }: { requestId: string }) => requestId))
    after = body.next
  }
  return ids
}

export async function scheduledOf({ runtime }: TestService, { accountId }: Pick<Account, 'accountId'>) {
  return await runtime.db
    .select()
    .from(scheduledSends)
    .where(eq(scheduledSends.accountId, accountId))
    .orderBy(scheduledSends.seq)
}

/** Makes a scheduled send due, as if its time had come so many seconds ago. */
export async function makeDue(
  { runtime }: TestService,
  requestId: string,
  agoSeconds = 0.001,
): Promise<void> {
  const sendAt = sql`clock_timestamp() - ${agoSeconds} * interval '1 s'`
  await runtime.db.update(scheduledSends).set({ sendAt }).where(eq(scheduledSends.requestId, requestId))
}

/** Moves all that is due, as a worker does, without its wake-up. */
export const moveDue = ({ runtime }: TestService) => moveDueSends(runtime.db, 1000)
