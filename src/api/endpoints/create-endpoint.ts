import type { Context } from 'hono'
import { type RecordIn, recordAudit } from '../../../db/audit/record.ts'
import { createEndpoint as insertEndpoint } from '../../../db/callbacks/endpoints.ts'
import { endpointDetails } from '../../core/accounts/audit-details.ts'
import { mintSealedSecret } from '../../core/callbacks/callback.ts'
import { creationFingerprint, hashIdempotencyKey } from '../../core/requests/idempotency-key.ts'
import type { Runtime } from '../../runtime.ts'
import type { ApiEnv } from '../context.ts'
import { unavailable } from '../errors.ts'
import { accountIsFull } from '../routes/endpoints.ts'
import { routes } from '../routes.ts'
import { type EarlierSend, keyOf } from '../send/find-earlier.ts'
import type { SendSteps } from '../send/steps.ts'
import type { EndpointSteps } from './steps.ts'

/** Creates an endpoint. Its id is the id of the request, so that a repeat by its Idempotency-Key gets it as one of a send does. */
export function createEndpoint(
  { db, settings }: Runtime,
  steps: EndpointSteps,
  { findEarlier, answerRepeat }: Pick<SendSteps, 'findEarlier' | 'answerRepeat'>,
) {
  /** Without the secret, which is in one answer only. */
  const repeat = (c: Context<ApiEnv>, earlier: EarlierSend, isCounted: boolean) => {
    const { requestId } = earlier
    const body = { requestId, endpointId: requestId }
    return answerRepeat(c, earlier, { isCounted, body, status: 201 })
  }

  return steps.serve(routes.createEndpoint, async (c, { body: fields }) => {
    const { requestId, caller } = c.var
    const { accountId } = caller
    const key = keyOf(c.env.incoming)
    const idempotency =
      key === undefined
        ? undefined
        : {
            hash: hashIdempotencyKey(accountId, key),
            fingerprint: creationFingerprint('endpoint', fields),
          }
    const earlier = await findEarlier(c.var, idempotency)
    if (earlier) return await repeat(c, earlier, false)
    await steps.limiter.rateLimit(c.var)
    const { secret, sealedSecret } = mintSealedSecret(requestId, settings.CREDENTIALS_KEY)
    const endpoint = { id: requestId, accountId, ...fields, sealedSecret }
    const entry = { action: 'endpoint.create', target: requestId, details: endpointDetails(fields) } as const
    const record: RecordIn = (transaction) => recordAudit(transaction, steps.rowOf(c, entry))
    const creation = await steps.inTime(c, (recordBy) =>
      insertEndpoint(db, endpoint, { idempotency, recordBy, record }),
    )
    if (creation === 'too_many') throw accountIsFull()
    if (creation === 'created') return { requestId, endpointId: requestId, secret }
    const first = await findEarlier(c.var, idempotency)
    if (!first) throw unavailable()
    return await repeat(c, first, true)
  })
}
