import { createApiKey, revokeApiKey } from '../../db/accounts/api-keys.ts'
import { audited } from '../../db/audit/record.ts'
import { mintApiKey, type Permission } from '../core/accounts/api-key.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import type { Making } from './making.ts'

export interface NewKey {
  accountId: string
  permissions: Permission[]
  /** Undefined if it never expires. */
  expiresInSeconds: number | undefined
}

/** Creates an API key, to be shown once. */
export async function makeKey(
  { db, actor }: Making,
  { accountId, permissions, expiresInSeconds }: NewKey,
  pepper: string,
): Promise<{ keyId: string; apiKey: string }> {
  const { apiKey, displayPrefix, hash } = mintApiKey(pepper)
  const keyId = await audited(
    db,
    (transaction) =>
      createApiKey(transaction, { accountId, hash, displayPrefix, permissions, expiresInSeconds }),
    (target) => ({
      ...actor,
      action: 'key.create',
      target,
      details: { accountId, displayPrefix, permissions },
    }),
  )
  return { keyId, apiKey }
}

/** @returns whether there is such a key. */
export async function endKey({ db, actor }: Making, keyId: string): Promise<boolean> {
  return (
    canBeRecordId(keyId) &&
    (await audited(
      db,
      (transaction) => revokeApiKey(transaction, keyId),
      (isThere) => isThere && { ...actor, action: 'key.revoke', target: keyId },
    ))
  )
}
