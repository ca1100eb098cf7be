import { setTimeout as sleep } from 'node:timers/promises'
import { and, eq } from 'drizzle-orm'
import { testType, webhookIdOf } from '../../src/core/callbacks/callback.ts'
import type { CallbackTry } from '../../src/core/callbacks/callback-outcome.ts'
import type { Database, Transaction } from '../connection/client.ts'
import type { RunPage } from '../page.ts'
import { callbacks } from '../schema.ts'

const lookAgainMs = 200

/** Adds a test, whatever types the endpoint takes. @param id of the test. */
export async function addTest(db: Database | Transaction, endpointId: string, id: string): Promise<void> {
  await db.insert(callbacks).values({ endpointId, requestId: id, sequence: 0, type: testType })
}

/**
 * Waits for the first call of a test by a worker.
 *
 * @param runLook runs each look, within what its process has for it.
 * @returns what came of the call; `not_called` if there was none in time, `deleted` if the endpoint is gone.
 */
export async function resultOfTest(
  db: Database,
  { endpointId, id, withinMs }: { endpointId: string; id: string; withinMs: number },
  runLook: RunPage = (look) => look(),
): Promise<({ webhookId: string } & CallbackTry) | 'not_called' | 'deleted'> {
  for (const endsAt = Date.now() + withinMs; Date.now() < endsAt; await sleep(lookAgainMs)) {
    const result = await runLook(() => lookAtTest(db, { endpointId, id }))
    if (result !== 'not_called') return result
  }
  return 'not_called'
}

/** What came of the first call of a test so far; `deleted` if there is no such test, any more. */
export async function lookAtTest(
  db: Database,
  { endpointId, id }: { endpointId: string; id: string },
): Promise<({ webhookId: string } & CallbackTry) | 'not_called' | 'deleted'> {
  const ofTest = and(eq(callbacks.endpointId, endpointId), eq(callbacks.requestId, id))
  const [test] = await db.select({ tries: callbacks.tries }).from(callbacks).where(ofTest)
  if (!test) return 'deleted'
  const [first] = test.tries
  return first ? { webhookId: webhookIdOf({ requestId: id, sequence: 0 }), ...first } : 'not_called'
}
