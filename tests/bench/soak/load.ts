import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { newContact } from '../../support/builders.ts'
import { nowMs } from '../clock.ts'
import { type Accepted, openClient, type Post, type Sender } from '../post.ts'
import type { Sizes } from './sizes.ts'

/** Part of the load that comes from each of the flooding accounts. */
const shareOfFlood = 0.1
const tickMs = 2
const kinds = 10
const media = {
  type: 'media',
  media: { mediaType: 'document', base64: randomBytes(20_000).toString('base64') },
}
const template = {
  type: 'template',
  template: { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] },
}

export interface MixedLoad {
  url: string
  perSecond: number
  others: readonly Sender[]
  flooding: readonly Sender[]
  sizes: Sizes
  /** Called with each send of the accounts that don't flood. */
  onAccepted(accepted: Accepted): void
  /** Called with each send of a flood. */
  onFlood(accepted: Accepted): void
  onRefused(error: Error): void
}

/** Keeps the load up for the given time: the others' in an open loop, the floods' as fast as they are accepted. */
export async function putOn(load: MixedLoad, until: number): Promise<void> {
  const { perSecond, others, flooding } = load
  const perSecondOfOthers = perSecond * (1 - shareOfFlood * flooding.length)
  await Promise.all([
    postOthers(load, others, perSecondOfOthers, until),
    ...flooding.map((sender, index) => flood(load, sender, index, until)),
  ])
}

async function postOthers(load: MixedLoad, others: readonly Sender[], perSecond: number, until: number) {
  const client = openClient(load.url)
  const startedAt = nowMs()
  let posted = 0
  const underWay = new Set<Promise<void>>()
  while (nowMs() < until) {
    for (const due = ((nowMs() - startedAt) / 1000) * perSecond; posted < due; posted++) {
      const sender = others[posted % others.length] as Sender
      const post = { sender, contact: newContact(), ...messageOf(posted) }
      const one = client
        .post(post)
        .then(load.onAccepted, load.onRefused)
        .finally(() => underWay.delete(one))
      underWay.add(one)
    }
    await sleep(tickMs)
  }
  await Promise.all(underWay)
  await client.close()
}

async function flood(load: MixedLoad, sender: Sender, index: number, until: number): Promise<void> {
  const { perSecond, flooding, sizes } = load
  const everyMs = sizes.floodEverySeconds * 1000
  const client = openClient(load.url)
  const startedAt = nowMs() + (index * everyMs) / flooding.length
  for (let round = 0; ; round++) {
    const at = startedAt + round * everyMs
    if (at >= until) break
    await sleep(Math.max(0, at - nowMs()))
    const count = Math.round(perSecond * shareOfFlood * sizes.floodEverySeconds)
    const posts = Array.from({ length: count }, () => ({ sender, contact: newContact() }))
    try {
      for (const accepted of await client.postAll(posts)) load.onFlood(accepted)
    } catch (error) {
      load.onRefused(error as Error)
    }
  }
  await client.close()
}

/** Of ten sends in a row, one has media, one a template, the others text. */
export function messageOf(index: number): Pick<Post, 'message'> {
  const kind = index % kinds
  if (kind === 0) return { message: media }
  return kind === 1 ? { message: template } : {}
}
