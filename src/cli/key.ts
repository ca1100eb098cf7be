import type { Command } from 'commander'
import { createApiKey, listApiKeys, revokeApiKey } from '../../db/accounts/api-keys.ts'
import { audited } from '../../db/audit/record.ts'
import { mintApiKey, type Permission, permissions } from '../core/accounts/api-key.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { type Answerer, CliError } from './answer.ts'
import { durationSeconds, existingAccount, permissionList } from './arguments.ts'

export function keyCommands(program: Command, answer: Answerer): void {
  const key = program.command('key')

  key
    .command('create')
    .requiredOption('--account <id>', 'the account that owns the key')
    .requiredOption('--permission <list>', `one or more of ${permissions.join(',')}`, permissionList)
    .option('--expires-in <duration>', 'e.g. 90d; default: never', durationSeconds)
    .action((options: { account: string; permission: Permission[]; expiresIn?: number }, command: Command) =>
      answer(command, async ({ db, setting, actor }) => {
        const accountId = await existingAccount(db, options.account)
        const { apiKey, displayPrefix, hash } = mintApiKey(setting('API_KEY_PEPPER'))
        const fields = { permissions: options.permission, expiresInSeconds: options.expiresIn }
        const keyId = await audited(
          db,
          (transaction) => createApiKey(transaction, { accountId, hash, displayPrefix, ...fields }),
          (target) => ({
            ...actor,
            action: 'key.create',
            target,
            details: { accountId, displayPrefix, permissions: options.permission },
          }),
        )
        return { keyId, apiKey }
      }),
    )

  key
    .command('list')
    .requiredOption('--account <id>', 'the account that owns the keys')
    .action((options: { account: string }, command: Command) =>
      answer(command, async ({ db }) => ({
        keys: await listApiKeys(db, await existingAccount(db, options.account)),
      })),
    )

  key
    .command('revoke')
    .argument('<key>', "the key's id")
    .action((keyId: string, _options: object, command: Command) =>
      answer(command, async ({ db, actor }) => {
        const isRevoked =
          canBeRecordId(keyId) &&
          (await audited(
            db,
            (transaction) => revokeApiKey(transaction, keyId),
            (isThere) => isThere && { ...actor, action: 'key.revoke', target: keyId },
          ))
        if (isRevoked) return { keyId }
        throw new CliError('not_found', `No key ${keyId}; see them with: outbound key list --account ID`)
      }),
    )
}
