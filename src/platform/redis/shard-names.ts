import { hash } from 'node:crypto'
import { keyPrefix } from '../../core/sends/send-job.ts'
import { clusterSlots, slotOfTag } from './key-slot.ts'

/** A third of a shard's part of the slots, so that a tag stays with its master when slots are moved at the edges. */
const near = 1 / 6

/**
 * Prefixes of the keys of the shards of a queue. One shard has the prefix that the service always had. Several have a hash tag
 * each, placed by its slot: the n-th of N in the middle of the n-th of N equal parts of the slots. So the masters of a Cluster
 * get alike, where tags that are left to chance leave some of them empty.
 */
export function shardPrefixes(count: number): string[] {
  return count === 1 ? [keyPrefix] : Array.from({ length: count }, (_, index) => prefixAt(index, count))
}

function prefixAt(index: number, count: number): string {
  const middle = (index + 0.5) / count
  for (let attempt = 0; ; attempt++) {
    const tag = `outbound:${count}.${index}.${attempt}`
    if (Math.abs(slotOfTag(tag) / clusterSlots - middle) * count < near) return `{${tag}}`
  }
}

/** The hex digits of a requestId that choose its shard. They are random; its channel wouldn't do: a busy one would be a busy shard. */
const shardDigits = 6

/** The shard of a send, from 0; by its own id, that of an endpoint. */
export function shardOfSend(requestId: string, count: number): number {
  return count === 1 ? 0 : Number.parseInt(requestId.slice(-shardDigits), 16) % count
}

/** The shard of a key of the rate limits, from 0. */
export function shardOfKey(key: string, count: number): number {
  return count === 1 ? 0 : Number.parseInt(hash('sha256', key).slice(-shardDigits), 16) % count
}
