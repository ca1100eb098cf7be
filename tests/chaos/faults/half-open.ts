import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { type Fault, violation } from '../fault.ts'
import type { Phase } from '../phase.ts'
import { storeFault, struck } from './stores.ts'

/** Open connections to a store carry nothing any more and stay open; new ones work. */
function halfOpen(
  name: string,
  setting: 'REDIS_URL' | 'DATABASE_URL',
  allowedStatuses: readonly number[],
): Fault {
  let proxy: TcpProxy
  let dead = 0
  // If a process just opens a new connection, there may be no 503.
  const fault = storeFault(
    name,
    allowedStatuses,
    async (_servers, phase) => {
      dead = proxy.swallowOpen()
      phase.notes.push(`${dead} connections went dead`)
      if (allowedStatuses.includes(503)) struck(phase)
    },
    false,
  )
  return {
    ...fault,
    reach: (phase, findings, scale) => [
      ...fault.reach(phase, findings, scale),
      ...violation(dead === 0, 'no connection went dead'),
    ],
    async strike(phase: Phase, scale) {
      const { fleet, servers } = phase.world
      const storeUrl = setting === 'REDIS_URL' ? servers.redisUrl : servers.databaseUrl
      proxy = await startTcpProxy(storeUrl)
      await fleet.restartWith({ [setting]: proxy.url })
      try {
        await fault.strike(phase, scale)
      } finally {
        await fleet.restartWith({ [setting]: storeUrl })
        await proxy.close()
      }
    },
  }
}

export const redisHalfOpen: Fault = halfOpen('redis-half-open', 'REDIS_URL', [202])
export const postgresHalfOpen: Fault = halfOpen('postgres-half-open', 'DATABASE_URL', [202, 503])
