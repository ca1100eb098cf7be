import { v7 as uuidv7 } from 'uuid'
import { audited, recordAudit } from '../../db/audit/record.ts'
import { addTest } from '../../db/callbacks/endpoint-tests.ts'
import {
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  findEndpoint,
  rotateSecret,
  updateEndpoint,
} from '../../db/callbacks/endpoints.ts'
import type { Transaction } from '../../db/connection/client.ts'
import type { AuditAction } from '../core/accounts/audit.ts'
import { changedDetails, endpointDetails } from '../core/accounts/audit-details.ts'
import { type EventType, mintSealedSecret } from '../core/callbacks/callback.ts'
import { disabledByOperator } from '../core/callbacks/endpoint-request.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import type { Making } from './making.ts'

export interface EndpointFields {
  url: string
  /** Null for all changes of sends. */
  events: EventType[] | null
}

/** Creates an endpoint, with its secret to be shown once. @returns undefined if the account has as many as it may have. */
export async function makeEndpoint(
  { db, actor }: Making,
  { accountId, ...fields }: EndpointFields & { accountId: string },
  key: Buffer,
): Promise<{ endpointId: string; secret: string } | undefined> {
  const id = uuidv7()
  const { secret, sealedSecret } = mintSealedSecret(id, key)
  const creation = await audited(
    db,
    (transaction) => createEndpoint(transaction, { id, accountId, ...fields, sealedSecret }),
    (creation) =>
      creation === 'created' && {
        ...actor,
        action: 'endpoint.create',
        target: id,
        details: { accountId, ...endpointDetails(fields) },
      },
  )
  return creation === 'created' ? { endpointId: id, secret } : undefined
}

type EndpointChange = { [Name in keyof EndpointFields]?: EndpointFields[Name] | undefined }

/** @returns whether there is such an endpoint. */
export async function changeEndpoint(
  { db, actor }: Making,
  id: string,
  fields: EndpointChange,
): Promise<boolean> {
  const before = canBeRecordId(id) ? await findEndpoint(db, id) : undefined
  if (!before) return false
  return await audited(
    db,
    (transaction) => updateEndpoint(transaction, id, fields),
    (isThere) =>
      isThere && {
        ...actor,
        action: 'endpoint.update',
        target: id,
        details: changedDetails(endpointDetails(before), endpointDetails(fields)),
      },
  )
}

/** Replaces the secret; until the overlap ends, the former one signs too. @returns undefined if there is no such endpoint. */
export async function replaceSecret(
  { db, actor }: Making,
  { id, overlapSeconds }: { id: string; overlapSeconds: number },
  key: Buffer,
): Promise<{ secret: string; bothSignUntil: Date } | undefined> {
  if (!canBeRecordId(id)) return undefined
  const { secret, sealedSecret } = mintSealedSecret(id, key)
  const bothSignUntil = await audited(
    db,
    (transaction) => rotateSecret(transaction, { id, sealedSecret, overlapSeconds }),
    (until) =>
      until && { ...actor, action: 'endpoint.rotate_secret', target: id, details: { overlapSeconds } },
  )
  return bothSignUntil && { secret, bothSignUntil }
}

const recordOf =
  ({ actor }: Making, action: AuditAction, target: string, details: { reason?: string } = {}) =>
  (transaction: Transaction) =>
    recordAudit(transaction, { ...actor, action, target, details })

/** Calls it again, with all that was kept meanwhile. @returns whether there is such an endpoint. */
export const resumeEndpoint = async (making: Making, id: string): Promise<boolean> =>
  canBeRecordId(id) &&
  (await enableEndpoint(making.db, id, { record: recordOf(making, 'endpoint.enable', id) }))

/** Stops its calls; new and waiting callbacks are kept. @returns whether there is such an endpoint. */
export const stopEndpoint = async (
  { db, actor }: Making,
  id: string,
  reason?: string | undefined,
): Promise<boolean> =>
  canBeRecordId(id) &&
  (await audited(
    db,
    (transaction) => disableEndpoint(transaction, id, disabledByOperator(reason)),
    (isThere) =>
      isThere && {
        ...actor,
        action: 'endpoint.disable',
        target: id,
        details: { ...(reason !== undefined && { reason }) },
      },
  ))

/** Deletes it for good, with its callbacks. @returns whether there was such an endpoint. */
export const endEndpoint = async (making: Making, id: string): Promise<boolean> =>
  canBeRecordId(id) &&
  (await deleteEndpoint(making.db, id, { record: recordOf(making, 'endpoint.delete', id) }))

/** Lets workers call an endpoint that is there. @returns the id of the test. */
export async function beginTest({ db, actor }: Making, endpointId: string): Promise<string> {
  const id = uuidv7()
  await audited(
    db,
    (transaction) => addTest(transaction, endpointId, id),
    () => ({ ...actor, action: 'endpoint.test', target: endpointId }),
  )
  return id
}
