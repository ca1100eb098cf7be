import type { Context } from 'hono'
import type { AuditEntry, AuditRow } from '../../core/accounts/audit.ts'
import { createReadClientAddress } from '../../platform/http/client-address.ts'
import type { Needs } from '../../runtime.ts'
import type { ApiEnv } from '../context.ts'
import type { SendSteps } from '../send/steps.ts'
import type { Serve } from '../serve.ts'
import type { ConnectionShare } from './connection-share.ts'

/** The shared parts of the routes by which an account reads and changes what it has. */
export interface AccountSteps {
  serve: Serve
  withConnection: ConnectionShare
  /** The sends' own: each request of the routes of channels, endpoints and suppressions counts as a send. */
  limiter: SendSteps['limiter']
  /** The audit's row of a change by a route. */
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
