import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { Agent, request } from 'undici'
import type { Discrepancy } from './ledgers.ts'
import type { Phase } from './phase.ts'
import { webhookSecret } from './world.ts'

const mostInRequest = 20
const gatherMs = 50
const repeatAfterMs = 200
/** Longer than any answer may take. */
const answerWithinMs = 5000

/** A request with receipts: what the provider knows of it. */
interface ReceiptPost {
  requestIds: string[]
  answers: { status: number | undefined; ms: number }[]
}

/** The provider's ledger of receipts. */
export interface DeliveryLedger {
  posts: ReceiptPost[]
  /** Reports a message as delivered, together with others. */
  report(requestId: string): void
  /** Waits until all are taken. */
  drained(): Promise<void>
}

const agent = new Agent({ headersTimeout: answerWithinMs, bodyTimeout: answerWithinMs })

interface Reports {
  channelId: string
  status: 'delivered' | 'undelivered'
}

/** Reports the phase's messages, to one API after the other, each request until it is answered with 200. */
export function openDeliveries(
  phase: Phase,
  { channelId, status: reported }: Reports = { channelId: phase.channelId, status: 'delivered' },
): DeliveryLedger {
  const posts: ReceiptPost[] = []
  const underWay = new Set<Promise<void>>()
  let waiting: string[] = []
  let turn = 0
  const postUntilTaken = async (post: ReceiptPost) => {
    for (;;) {
      const apis = phase.world.fleet.apis()
      const startedAt = performance.now()
      const receipts = post.requestIds.map((requestId) => ({ requestId, status: reported }))
      const status = await send(apis[turn++ % apis.length]?.url, channelId, JSON.stringify(receipts))
      post.answers.push({ status, ms: performance.now() - startedAt })
      if (status === 200) {
        if (reported === 'delivered') for (const requestId of post.requestIds) phase.delivered.add(requestId)
        return
      }
      await sleep(repeatAfterMs)
    }
  }
  const flush = () => {
    const requestIds = waiting
    waiting = []
    for (let at = 0; at < requestIds.length; at += mostInRequest) {
      const post: ReceiptPost = { requestIds: requestIds.slice(at, at + mostInRequest), answers: [] }
      posts.push(post)
      const taken = postUntilTaken(post).finally(() => underWay.delete(taken))
      underWay.add(taken)
    }
  }
  return {
    posts,
    report(requestId) {
      if (waiting.length === 0) setTimeout(flush, gatherMs)
      waiting.push(requestId)
    },
    async drained() {
      while (waiting.length > 0 || underWay.size > 0) await sleep(gatherMs)
    },
  }
}

async function send(url: string | undefined, channelId: string, text: string): Promise<number | undefined> {
  const id = `msg_${randomUUID()}`
  const at = new Date()
  try {
    const { statusCode, body } = await request(`${url}/receipts/${channelId}`, {
      method: 'POST',
      dispatcher: agent,
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(webhookSecret).sign(id, at, text),
      },
      body: text,
    })
    await body.dump()
    return statusCode
  } catch {
    return undefined
  }
}

/** A send's deliveries in the database. */
export interface DeliveryRow {
  requestId: string
  status: string
  delivery: string | null
  /** How often its timeline says that it was delivered. */
  told: number
}

/** Compares the receipts that were taken with the database: none lost, and none recorded twice. */
export function compareDeliveries(
  posts: readonly Pick<ReceiptPost, 'requestIds' | 'answers'>[],
  rows: readonly DeliveryRow[],
): Discrepancy[] {
  const rowOf = new Map(rows.map((row) => [row.requestId, row]))
  const isTaken = ({ answers }: Pick<ReceiptPost, 'answers'>) => answers.some(({ status }) => status === 200)
  return posts.filter(isTaken).flatMap(({ requestIds }) =>
    requestIds.flatMap((requestId) => {
      const row = rowOf.get(requestId)
      if (!row) return [{ requestId, what: 'its receipt was taken, but it is not in the database' }]
      const { status, delivery, told } = row
      if (told !== 1) return [{ requestId, what: `its receipt was taken, and told ${told} times` }]
      if (delivery === 'delivered' && status === 'sent') return []
      return [{ requestId, what: `its receipt was taken, but it is ${status}, ${delivery}` }]
    }),
  )
}
