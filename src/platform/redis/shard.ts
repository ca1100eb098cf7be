import type { Redis } from 'ioredis'
import type { Logger } from '../log/logger.ts'
import type { RedisBreaker } from './breaker.ts'
import { shardOfKey, shardOfSend } from './shard-names.ts'

/** A part of what the service keeps in Redis. A plain Redis has one, unless `QUEUE_SHARDS` says otherwise. */
export interface RedisShard {
  /** Its number, from 0, or `former-` and that: its label in metrics and log lines. */
  name: string
  /** Prefix of all its keys. */
  prefix: string
  redis: Redis
  /** Fails fast while the shard's Redis is down. A worker's first waits for it, for a limited time. */
  throughBreaker: RedisBreaker
  /** Names the shard in each line, if there are several. */
  log: Logger
}

/** Picks that of the send's shard, from what there is once a shard. */
export const ofSend = <Part>(parts: readonly Part[], requestId: string): Part =>
  parts[shardOfSend(requestId, parts.length)] as Part

/** Picks that of the shard where the key is counted, from what there is once a shard. */
export const ofKey = <Part>(parts: readonly Part[], key: string): Part =>
  parts[shardOfKey(key, parts.length)] as Part
