import { Semaphore } from '../../platform/semaphore.ts'
import type { Settings } from '../../platform/settings.ts'
import type { RequestState } from '../context.ts'

export type Connections = ReturnType<typeof limitedConnections>

/**
 * Connections for requests that may take long, such as pages of a list: a third of all at most, so that accepts always find one.
 * They are shared between accounts.
 */
export function limitedConnections({ DATABASE_POOL_SIZE: size }: Pick<Settings, 'DATABASE_POOL_SIZE'>) {
  const units = Math.max(1, Math.floor(size / 3))
  const connections = new Semaphore({ units, unitsOfOwner: Math.max(1, units - 1) })
  return {
    /** Waits for a connection, then does the work. */
    async use<Result>(
      { caller, deadline }: Pick<RequestState, 'caller' | 'deadline'>,
      work: () => Promise<Result>,
    ): Promise<Result> {
      const request = { units: 1, owner: caller.accountId }
      const release = await connections.acquire(request, deadline.leftMs)
      return await work().finally(() => release())
    },
  }
}
