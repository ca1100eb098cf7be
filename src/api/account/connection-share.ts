import { Semaphore } from '../../platform/memory/semaphore.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'

type Asking = Pick<RequestState, 'caller' | 'deadline'>

export type ConnectionShare = ReturnType<typeof connectionShare>

/** All routes but accepts use a third of the connections at most, so that accepts always find one. */
export function connectionShare({ settings }: Needs<never, 'DATABASE_POOL_SIZE'>) {
  const units = Math.max(1, Math.floor(settings.DATABASE_POOL_SIZE / 3))
  const connections = new Semaphore({ units, unitsOfOwner: Math.max(1, units - 1) })
  /** Does work that uses one connection, within the deadline of its request. */
  return <Result>({ caller, deadline }: Asking, work: () => Promise<Result>): Promise<Result> => {
    const inTurn = async () => {
      const release = await connections.acquire({ units: 1, owner: caller.accountId }, deadline.leftMs)
      return await work().finally(() => release())
    }
    return deadline.spend(inTurn())
  }
}
