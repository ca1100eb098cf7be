import type { Database } from '../../../db/connection/client.ts'
import { findSend } from '../../../db/sends/sends.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { PageError } from '../errors.tsx'

/** The send of a page, with its events. @throws PageError if there is none. */
export async function sendOf(db: Database, requestId = '') {
  const found = canBeRecordId(requestId) ? await findSend(db, requestId) : undefined
  if (found) return found
  throw new PageError(404, 'There is no such send: it was never accepted, or is no longer kept.')
}
