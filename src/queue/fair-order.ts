import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { dayMs } from '../core/durations.ts'
import { overflowQueueName } from '../core/sends/send-job.ts'

/** BullMQ's highest priority value. Beyond it, wake-ups are taken in the order in which they came. */
export const largestPriority = 2 ** 21 - 1
const forgottenAfterMs = dayMs

/**
 * Start-time fair queueing: a channel's next wake-up gets the tag after the channel's last one, or the tag after the one
 * being served, whichever is later. So the channels take turns, however many wake-ups each of them has waiting. BullMQ keeps
 * a priority in the upper half of the score.
 */
const tagScript = `
  local first = redis.call('zrange', KEYS[1], 0, 0, 'withscores')
  local served = 0
  if first[2] then served = math.floor(tonumber(first[2]) / 0x100000000) else redis.call('del', KEYS[2]) end
  local tags = {}
  for i, channel in ipairs(ARGV) do
    local last = tonumber(redis.call('hget', KEYS[2], channel) or 0)
    tags[i] = math.min(math.max(served, last) + 1, ${largestPriority})
    redis.call('hset', KEYS[2], channel, tags[i])
  end
  redis.call('pexpire', KEYS[2], ${forgottenAfterMs})
  return tags`

/** @returns a BullMQ priority for each wake-up of the overflow queue, given the wake-ups' channels. */
export async function fairTags(
  { prefix, redis, overflow }: { prefix: string; redis: Redis; overflow: Pick<Queue, 'toKey'> },
  channelIds: readonly string[],
): Promise<number[]> {
  const keys = [overflow.toKey('prioritized'), `${prefix}:${overflowQueueName}:last-tags`]
  return (await redis.eval(tagScript, keys.length, ...keys, ...channelIds)) as number[]
}
