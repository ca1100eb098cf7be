import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { Pool } from 'undici'
import type { Database } from '../../../db/connection/client.ts'
import { webhookSecret } from '../../support/webhook-receiver.ts'
import { alternate } from '../benchmark.ts'
import { type Figure, percentile } from '../figures.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import { openStage } from '../stage.ts'
import { dispatch as dispatchAll } from '../throughput.ts'
import type { Case } from './case.ts'
import { atMost, ratio } from './ratio.ts'

const receiptsOfEach = 100
const connections = 16
/** The steady share of the load that one API takes. */
const steadyShare = 1 / 3

/** Receipts in requests of 100, by one API, beside what one worker delivers; and how long a request takes at a third of that. */
export const receipts: Case = {
  name: 'receipts',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    const pool = new Pool(stage.api.url, { connections })
    try {
      const accounts = await openAccounts(stage, sizes.accounts)
      const senders = await openChannels(accounts, '/accept/receipts', sizes.channelsOfEach)
      const { channelId = '' } = senders[0] ?? {}
      const poster = openPoster(pool, channelId)
      const taken: Figure = { variant: 'receipts, one API', unit: '/s', values: [] }
      const delivered: Figure = { variant: 'dispatch, one worker', unit: '/s', values: [] }
      const p50: Figure = { variant: 'p50', unit: ' ms', values: [] }
      const p99: Figure = { variant: 'p99', unit: ' ms', values: [] }
      const receive = async () => {
        await stage.clear()
        const warmUp = await sentSends(stage.db, channelId, sizes.receipts / 4)
        await atOnce(warmUp, poster)
        const perSecond = await atOnce(await sentSends(stage.db, channelId, sizes.receipts), poster)
        taken.values.push(perSecond)
        const steady = await sentSends(stage.db, channelId, sizes.receipts)
        const tookMs = await steadily(steady, (perSecond * steadyShare) / receiptsOfEach, poster)
        p50.values.push(percentile(tookMs, 0.5))
        p99.values.push(percentile(tookMs, 0.99))
        const [middle, slow] = [p50, p99].map(({ values }) => values.at(-1)?.toFixed(1))
        print(`receipts: ${perSecond.toFixed(0)}/s; at a third: p50 ${middle} ms, p99 ${slow} ms`)
      }
      const deliver = async () => {
        const { perSecond } = await dispatchAll(stage, inTurn(senders, sizes.sendsOfEach))
        delivered.values.push(perSecond)
        print(`receipts: dispatch beside it: ${perSecond.toFixed(0)}/s`)
      }
      await alternate(runs, [receive, deliver])
      return [
        ratio('receipts', 'receipts ÷ dispatch', { of: taken, to: delivered, floor: 3, aim: 3 }),
        atMost('receipts', 'a request of 100 at a third of that', p50, { floor: 50, aim: 50 }),
        atMost('receipts', 'a request of 100 at a third of that', p99, { floor: 250, aim: 250 }),
      ]
    } finally {
      await pool.close()
      await stage.close()
    }
  },
}

type Poster = (requestIds: readonly string[]) => Promise<number>

/** Posts a signed request. @returns how many ms it took. */
function openPoster(pool: Pool, channelId: string): Poster {
  const webhook = new Webhook(webhookSecret)
  return async (requestIds) => {
    const id = `msg_${randomUUID()}`
    const at = new Date()
    const text = JSON.stringify(requestIds.map((requestId) => ({ requestId, status: 'delivered' })))
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': webhook.sign(id, at, text),
    }
    const startedAt = performance.now()
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: `/receipts/${channelId}`,
      headers,
      body: text,
    })
    await body.dump()
    if (statusCode !== 200) throw new Error(`Receipts got ${statusCode}`)
    return performance.now() - startedAt
  }
}

/** Sends of the channel that ended as sent, in requests' portions. */
async function sentSends({ $client }: Database, channelId: string, count: number): Promise<string[][]> {
  const { rows } = await $client.query<{ id: string }>(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                        close_conversation, status, attempt, finished_at)
     select uuidv7(), account_id, id, 'phone', '+49' || n, 'text', '{"type": "text", "text": {"value": "Hello"}}', false,
            'sent', 1, now()
     from channels, generate_series(1, $2) n where id = $1 returning request_id as id`,
    [channelId, count],
  )
  const ids = rows.map(({ id }) => id)
  const portions = Math.ceil(ids.length / receiptsOfEach)
  return Array.from({ length: portions }, (_, at) =>
    ids.slice(at * receiptsOfEach, (at + 1) * receiptsOfEach),
  )
}

/** @returns receipts taken a second, as fast as they are taken. */
async function atOnce(portions: readonly string[][], post: Poster): Promise<number> {
  const waiting = [...portions]
  const startedAt = performance.now()
  const client = async () => {
    for (let portion = waiting.pop(); portion; portion = waiting.pop()) await post(portion)
  }
  await Promise.all(Array.from({ length: connections }, client))
  return (portions.length * receiptsOfEach * 1000) / (performance.now() - startedAt)
}

/** @returns how long each request took, at a steady rate, whatever the answers. */
async function steadily(portions: readonly string[][], perSecond: number, post: Poster): Promise<number[]> {
  const startedAt = performance.now()
  const posted: Promise<number>[] = []
  for (const [at, portion] of portions.entries()) {
    await sleep(startedAt + (at * 1000) / perSecond - performance.now())
    posted.push(post(portion))
  }
  return await Promise.all(posted)
}
