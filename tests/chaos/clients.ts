import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { ClientSend } from './client-send.ts'
import type { Fleet, Member } from './fleet.ts'
import type { Phase } from './phase.ts'
import type { World } from './world.ts'

/**
 * `apis`: each API in turn, without the balancer, which has its own error answers. A single API: that one while it runs, then
 * the others.
 */
export type Way = 'balancer' | 'apis' | Member

export interface LoadOptions {
  count: number
  /** The sends are spread evenly over this time. */
  seconds: number
  /** In place of that. */
  perSecond?: number
  /** The load continues at the same rate until this is settled. */
  during?: Promise<unknown>
  through?: Way
  triesAgain?: boolean
  /** Used in turn. By default the phase's own channel. */
  channelIds?: readonly string[]
  /** Whether every second client has no key. */
  isWithoutKeys?: boolean
  /** When each is to be sent, by its index; undefined for now. */
  sendAt?: (index: number) => Date | undefined
  /** The contact of each, by its index; undefined for one of its own. */
  contact?: (index: number) => string | undefined
}

const giveUpAfterMs = 60_000
const firstBackoffMs = 200
const longestBackoffMs = 4000
const answerWithinMs = 10_000
export const maxPerSecond = 150

const agent = new Agent({ headersTimeout: answerWithinMs, bodyTimeout: answerWithinMs })

const noAnswer = { status: undefined, requestId: undefined, isReplay: false, retryAfterMs: undefined }

/**
 * Sends at a steady rate, whatever the answers, and resolves when each client got a 202 or gave up. A client that gets no
 * answer, a 429 or a 5xx repeats its request with the same key.
 */
export async function load(phase: Phase, options: LoadOptions): Promise<void> {
  const { count, during } = options
  const perSecond = options.perSecond ?? Math.min(count / options.seconds, maxPerSecond)
  let isOver = during === undefined
  const over = during?.finally(() => {
    isOver = true
  })
  // The error is thrown below, when the clients have their answers.
  over?.catch(() => {})
  const clients: Promise<void>[] = []
  const startedAt = performance.now()
  while (clients.length < count || !isOver) {
    const due = Math.ceil(((performance.now() - startedAt) / 1000) * perSecond)
    while (clients.length < (isOver ? Math.min(due, count) : due)) {
      clients.push(nextClient(phase, options, clients.length))
    }
    await sleep(5)
  }
  await Promise.all([over, ...clients])
}

function nextClient(phase: Phase, options: LoadOptions, index: number): Promise<void> {
  const { through = 'balancer', triesAgain = true, channelIds = [], isWithoutKeys = false } = options
  const isKeyed = !isWithoutKeys || index % 2 === 0
  const send = phase.newSend({
    channelId: channelIds[index % channelIds.length],
    isKeyed,
    sendAt: options.sendAt?.(index),
    contact: options.contact?.(index),
  })
  return triesAgain && isKeyed ? askUntilAnswered(phase, send, through) : ask(phase, send, through)
}

/** Sends all at once, and resolves like `load`. */
export async function burst(
  phase: Phase,
  count: number,
  through: Way = 'balancer',
  channelId = phase.channelId,
): Promise<void> {
  const client = () => askUntilAnswered(phase, phase.newSend({ channelId }), through)
  await Promise.all(Array.from({ length: count }, client))
}

/** Sends without keys: each client sends only once. */
export async function burstWithoutKeys(phase: Phase, count: number, through: Way): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, () => ask(phase, phase.newSend({ isKeyed: false }), through)),
  )
}

async function askUntilAnswered(phase: Phase, send: ClientSend, through: Way): Promise<void> {
  const deadline = Date.now() + giveUpAfterMs
  for (let backoffMs = firstBackoffMs; Date.now() < deadline; ) {
    await ask(phase, send, through)
    const { status = 503, retryAfterMs = 0 } = send.answers.at(-1) ?? {}
    if (status < 500 && status !== 429) return
    await sleep(Math.max(backoffMs, retryAfterMs))
    backoffMs = Math.min(backoffMs * 2, longestBackoffMs)
  }
}

/** Sends the request once, and records the answer. */
export async function ask(phase: Phase, send: ClientSend, through: Way): Promise<void> {
  const at = Date.now()
  const startedAt = performance.now()
  const answer = await post(phase.world, send, through).catch(() => noAnswer)
  send.answers.push({ at, ms: performance.now() - startedAt, ...answer })
}

/** Cancels a send once. @returns the status of the answer, and that of the send; undefined if the connection broke. */
export async function cancel(
  { fleet, apiKey }: World,
  requestId: string,
): Promise<{ status: number; sendStatus: string | undefined } | undefined> {
  try {
    const { statusCode, body } = await request(
      `${urlOf(fleet, 'balancer')}/v1/messages/${requestId}/cancel`,
      { method: 'POST', dispatcher: agent, headers: { Authorization: `Bearer ${apiKey}` } },
    )
    const { status } = Object(await body.json().catch(() => undefined)) as { status?: string }
    return { status: statusCode, sendStatus: status }
  } catch {
    return undefined
  }
}

let turn = 0

async function post(
  { fleet, apiKey }: World,
  { key, contact, channelId, isKeyed, sendAt }: ClientSend,
  through: Way,
) {
  const { statusCode, headers, body } = await request(`${urlOf(fleet, through)}/v1/messages`, {
    method: 'POST',
    dispatcher: agent,
    headers: {
      Authorization: `Bearer ${apiKey}`,
      'Content-Type': 'application/json',
      ...(isKeyed && { 'Idempotency-Key': key }),
    },
    body: JSON.stringify({
      channelId,
      contact: { value: contact, type: contact.includes('@') ? 'email' : 'phone' },
      message: { type: 'text', text: { value: 'Hello' } },
      ...(sendAt && { sendAt }),
    }),
  })
  const { requestId } = Object(await body.json().catch(() => undefined)) as { requestId?: string }
  const retryAfter = headers['retry-after']
  return {
    status: statusCode,
    requestId,
    isReplay: headers['idempotent-replayed'] === 'true',
    retryAfterMs: retryAfter ? Number(retryAfter) * 1000 : undefined,
  }
}

function urlOf(fleet: Fleet, through: Way): string | undefined {
  if (through === 'balancer') return fleet.balancer.url
  const apis = fleet.apis()
  return apis.find((api) => api === through)?.url ?? apis[turn++ % apis.length]?.url
}
