import { connectionCause } from '../../core/connection-cause.ts'
import { type RedisCauseName, redisCauses, type StoreCause } from '../../core/store-causes.ts'
import { DeadlinePassed } from '../deadline.ts'

export type RedisError = Error & { command?: { name: string } }

/** By Redis's reply, or the client's message, the first that fits. A script's error, or a pipeline's, quotes the reply. */
const messages: [RegExp, RedisCauseName][] = [
  [/\bNOPERM\b/, 'no_permission'],
  [/^(WRONGPASS|NOAUTH|DENIED) |invalid password|AUTH .*without any password/, 'login_refused'],
  [/\b(READONLY|UNBLOCKED)\b/, 'read_only'],
  [/\bMISCONF\b/, 'disk_full'],
  [/\bOOM\b/, 'out_of_memory'],
  [/\bNOREPLICAS\b/, 'too_few_replicas'],
  [/\bLOADING\b/, 'starting'],
  [/\b(MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK)\b|^All sentinels are unreachable/, 'no_master'],
  [/max number of clients reached/, 'too_many_connections'],
  [/^(Redis accepts connections, but does not answer|Command timed out|connect ETIMEDOUT)/, 'timeout'],
]

/**
 * Why Redis can't be used, by an error of its client.
 *
 * @param before the cause of an earlier error of the connection: a command on a closed one fails without saying why it was closed.
 */
export function redisCause(error: unknown, before: StoreCause = redisCauses.unreachable): StoreCause {
  const name = causeName(error)
  return name === undefined ? before : redisCauses[name]
}

const refusals = ['no_database', 'login_refused', 'no_permission']

/** Whether Redis refuses what REDIS_URL says, or the rights of its user. */
export const isRefusal = (error: RedisError): boolean =>
  error.name === 'ReplyError' && refusals.includes(redisCause(error).cause)

function causeName(error: unknown): RedisCauseName | undefined {
  if (error instanceof DeadlinePassed) return 'timeout'
  if (!(error instanceof Error)) return 'other'
  const byMessage = messages.find(([pattern]) => pattern.test(error.message))?.[1]
  if (byMessage !== undefined) return byMessage
  if (error.name !== 'ReplyError') return connectionCause(error)
  return (error as RedisError).command?.name === 'select' ? 'no_database' : 'other'
}
