import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Priority } from '../../src/core/sends/priority.ts'
import { nowMs } from './clock.ts'
import { concurrently } from './concurrently.ts'

/** A channel for sending, and a key of its account. */
export interface Sender {
  apiKey: string
  channelId: string
}

export interface Post {
  sender: Sender
  contact: string
  /** Default: a text. */
  message?: object
  /** Default: none, which is normal. */
  priority?: Priority
}

/** A send, and the time of its 202. */
export interface Accepted {
  requestId: string
  sender: Sender
  postedAt: number
  acceptedAt: number
}

/** Sends at a steady rate, whatever the answers. */
export interface Stream {
  perSecond: number
  count: number
  postOf(index: number): Post
}

export interface Client {
  post(post: Post): Promise<Accepted>
  /** As fast as the API accepts them, one at a time on each connection. */
  postAll(posts: readonly Post[]): Promise<Accepted[]>
  /** Each stream's posts in order; in an open loop, so that a slow answer doesn't lower the load. */
  postSteadily(streams: readonly Stream[]): Promise<Accepted[][]>
  close(): Promise<void>
}

const connections = 64
const hello = { type: 'text', text: { value: 'Hello' } }
const tickMs = 1

export function openClient(apiUrl: string): Client {
  const pool = new Pool(apiUrl, { connections })
  const post = async ({ sender, contact, message = hello, priority }: Post): Promise<Accepted> => {
    const postedAt = nowMs()
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/v1/messages',
      headers: { authorization: `Bearer ${sender.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        channelId: sender.channelId,
        contact: { value: contact, type: contact.includes('@') ? 'email' : 'phone' },
        message,
        priority,
      }),
    })
    const answer = await body.text()
    const acceptedAt = nowMs()
    if (statusCode !== 202) throw new Error(`not accepted: ${statusCode} ${answer}`)
    return { requestId: JSON.parse(answer).requestId, sender, postedAt, acceptedAt }
  }
  return {
    post,
    postAll: (posts) => concurrently(connections, posts, post),
    postSteadily: (streams) => postSteadily(streams, post),
    close: () => pool.close(),
  }
}

async function postSteadily(
  streams: readonly Stream[],
  post: (post: Post) => Promise<Accepted>,
): Promise<Accepted[][]> {
  // Offsets keep the streams from sending all at once.
  const running = streams.map((stream, index) => ({
    stream,
    phase: index / streams.length,
    posted: [] as Promise<Accepted>[],
  }))
  const startedAt = nowMs()
  while (running.some(({ stream, posted }) => posted.length < stream.count)) {
    const seconds = (nowMs() - startedAt) / 1000
    for (const { stream, phase, posted } of running) {
      const due = Math.min(stream.count, Math.floor(seconds * stream.perSecond + phase))
      while (posted.length < due) {
        const answer = post(stream.postOf(posted.length))
        // The error is thrown below, when all have been posted.
        answer.catch(() => {})
        posted.push(answer)
      }
    }
    await sleep(tickMs)
  }
  return await Promise.all(running.map(({ posted }) => Promise.all(posted)))
}
