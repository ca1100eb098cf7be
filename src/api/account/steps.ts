import type { Context, MiddlewareHandler } from 'hono'
import type { AuditEntry, AuditRow } from '../../core/accounts/audit.ts'
import { createReadClientAddress } from '../../platform/http/client-address.ts'
import type { Needs } from '../../runtime.ts'
import type { SmallBodies } from '../body/small-body.ts'
import type { ApiEnv } from '../context.ts'
import { ApiError } from '../errors.ts'
import type { KeyLimiter } from '../keys/key-limit.ts'
import type { SendSteps } from '../send/steps.ts'
import type { ConnectionShare } from './connection-share.ts'

/** What the routes share by which an account reads and changes what it has. */
export interface AccountSteps {
  authenticate: MiddlewareHandler<ApiEnv>
  withConnection: ConnectionShare
  bodies: SmallBodies
  /** The sends' own: each request of the routes of channels, endpoints and suppressions counts as a send. */
  limiter: SendSteps['limiter']
  /** For reads that don't count as sends. */
  limitReads: KeyLimiter['limitReads']
  /** What the audit records of a change by a route. */
  rowOf: RowOf
}

type RowOf = (c: Context<ApiEnv>, entry: AuditEntry) => AuditRow

/** The key makes the change: its prefix is shown, its id is exact. */
export function auditRows(runtime: Needs<never, 'TRUST_PROXY'>): RowOf {
  const clientAddress = createReadClientAddress(runtime)
  return (c, { details, ...entry }) => {
    const { accountId, keyId, keyPrefix } = c.get('caller')
    return {
      by: keyPrefix,
      via: 'route',
      address: clientAddress(c.env.incoming),
      ...entry,
      details: { accountId, keyId, ...details },
    }
  }
}

type QueryReader<Query> = (query: URLSearchParams) => { query: Query } | { issue: string; reason: string }

/** The query of the request. @throws ApiError 400 that names each parameter that is unknown, repeated or unreadable. */
export function queryOf<Query>(c: Context<ApiEnv>, read: QueryReader<Query>): Query {
  const result = read(new URL(c.req.url).searchParams)
  if ('issue' in result) throw new ApiError(400, result.issue, {}, result.reason)
  return result.query
}
