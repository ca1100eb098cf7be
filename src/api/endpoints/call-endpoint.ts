import { audited, auditedInPages, type RecordIn, recordAudit } from '../../../db/audit/record.ts'
import { addTest, resultOfTest } from '../../../db/callbacks/endpoint-tests.ts'
import { rotateSecret } from '../../../db/callbacks/endpoints.ts'
import { resendOfEndpoint } from '../../../db/callbacks/resends.ts'
import { endpointResent } from '../../core/accounts/audit-details.ts'
import { mintSealedSecret } from '../../core/callbacks/callback.ts'
import { Semaphore } from '../../platform/memory/semaphore.ts'
import type { EndpointWaker } from '../../queue/wake-endpoints.ts'
import type { Runtime } from '../../runtime.ts'
import { pauseIdleTimeout } from '../body/receive.ts'
import type { ClientTimeouts } from '../http/client-timeouts.ts'
import { endpointNotFound, notTestable, notTested } from '../routes/endpoints.ts'
import { routes } from '../routes.ts'
import type { EndpointSteps } from './steps.ts'

/** Tests that wait at the same time, in this process and of one account: each looks for its result again and again. */
const tests = { units: 16, unitsOfOwner: 2 }

/** Tests an endpoint, replaces its secret, and resends its callbacks (docs/reference/api.md#endpoints). */
export function callEndpoint(
  { db, settings }: Runtime,
  steps: EndpointSteps,
  wake: EndpointWaker,
  { testedMs }: Pick<ClientTimeouts, 'testedMs'>,
) {
  const { serve, withConnection, limiter, find, pagesOf, inTime, rowOf } = steps
  const waitingTests = new Semaphore(tests)

  const testEndpoint = serve(routes.testEndpoint, async (c) => {
    const { endpointId, disabledAt, disabledReason } = await find(c)
    if (disabledAt) throw notTestable(disabledReason)
    await limiter.rateLimit(c.var)
    const { requestId: id, caller, deadline } = c.var
    const release = await waitingTests.acquire({ units: 1, owner: caller.accountId }, deadline.leftMs)
    const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
    try {
      await withConnection(c.var, () =>
        audited(
          db,
          (transaction) => addTest(transaction, endpointId, id),
          () => rowOf(c, { action: 'endpoint.test', target: endpointId }),
        ),
      )
      wake([endpointId])
      const result = await resultOfTest(db, { endpointId, id, withinMs: testedMs }, pagesOf(c))
      if (result === 'deleted') throw endpointNotFound()
      if (result === 'not_called') throw notTested()
      return { requestId: id, ...result }
    } finally {
      resumeIdleTimeout()
      release()
    }
  })

  const rotateEndpointSecret = serve(routes.rotateEndpointSecret, async (c, { body }) => {
    const { overlapSeconds } = body
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const { secret, sealedSecret } = mintSealedSecret(endpointId, settings.CREDENTIALS_KEY)
    const rotation = { id: endpointId, sealedSecret, overlapSeconds }
    const entry = {
      action: 'endpoint.rotate_secret',
      target: endpointId,
      details: { overlapSeconds },
    } as const
    const record: RecordIn = (transaction) => recordAudit(transaction, rowOf(c, entry))
    const bothSignUntil = await inTime(c, (recordBy) => rotateSecret(db, rotation, { recordBy, record }))
    if (!bothSignUntil) throw endpointNotFound()
    return { requestId: c.var.requestId, endpointId, secret, bothSignUntil }
  })

  const resendCallbacks = serve(routes.resendCallbacks, async (c, { body }) => {
    const { since, only } = body
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const asked = { endpointId, since, onlyGivenUp: only !== undefined }
    const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
    const runPage = pagesOf(c)
    const resent = await auditedInPages(db, rowOf(c, endpointResent(asked)), {
      change: () => resendOfEndpoint(db, asked, runPage),
      resultOf: (resent) => ({ resent }),
      runPage,
    }).finally(resumeIdleTimeout)
    if (resent > 0) wake([endpointId])
    return { requestId: c.var.requestId, resent }
  })

  return { testEndpoint, rotateEndpointSecret, resendCallbacks }
}
