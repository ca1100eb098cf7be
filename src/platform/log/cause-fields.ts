import { databaseCause } from '../../../db/connection/database-cause.ts'
import type { StoreCause } from '../../core/store-causes.ts'
import { DeadlinePassed } from '../deadline.ts'

/** The fields by which log lines name a cause: `check` says what to do. */
export const causeFields = ({ cause, advice }: StoreCause) => ({ cause, check: advice })

/** Fields of an error that may come from PostgreSQL; none if it is no fault of the store. */
export function databaseCauseFields(error: unknown): { cause?: string; check?: string } {
  if (error instanceof DeadlinePassed) return { cause: 'timeout' }
  const cause = databaseCause(error)
  return cause ? causeFields(cause) : {}
}
