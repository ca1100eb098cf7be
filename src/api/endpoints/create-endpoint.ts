import type { Context } from 'hono'
import { type RecordIn, recordAudit } from '../../../db/audit/record.ts'
import { createEndpoint as insertEndpoint } from '../../../db/callbacks/endpoints.ts'
import { endpointDetails } from '../../core/accounts/audit-details.ts'
import { mintSealedSecret } from '../../core/callbacks/callback.ts'
import { endpointSchemas, tooManyEndpoints } from '../../core/callbacks/endpoint-request.ts'
import { creationFingerprint, hashIdempotencyKey } from '../../core/requests/idempotency-key.ts'
import type { Runtime } from '../../runtime.ts'
import { answerJson } from '../answer.ts'
import { type ApiEnv, factory } from '../context.ts'
import { ApiError, unavailable } from '../errors.ts'
import { type EarlierSend, keyOf } from '../send/find-earlier.ts'
import type { SendSteps } from '../send/steps.ts'
import type { EndpointSteps } from './steps.ts'

export const accountIsFull = () => new ApiError(400, tooManyEndpoints)

/** Creates an endpoint. Its id is the id of the request, so that a repeat by its Idempotency-Key gets it as one of a send does. */
export function createEndpoint(
  { db, settings }: Runtime,
  steps: EndpointSteps,
  { findEarlier, answerRepeat }: Pick<SendSteps, 'findEarlier' | 'answerRepeat'>,
) {
  const { create: schema } = endpointSchemas(settings.CLIENT_PRIVATE_NETWORKS)

  /** Without the secret, which is in one answer only. */
  const repeat = (c: Context<ApiEnv>, earlier: EarlierSend, isCounted: boolean) => {
    const { requestId } = earlier
    const body = { requestId, endpointId: requestId }
    return answerRepeat(c, earlier, { isCounted, body, status: 201 })
  }

  return factory.createHandlers(...steps.withBody, async (c) => {
    const fields = await steps.readBody(c, schema)
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
    if (creation === 'created') return answerJson(c, { requestId, endpointId: requestId, secret }, 201)
    const first = await findEarlier(c.var, idempotency)
    if (!first) throw unavailable()
    return await repeat(c, first, true)
  })
}
