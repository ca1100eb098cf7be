import type { Command } from 'commander'
import { listApiKeys } from '../../db/accounts/api-keys.ts'
import { type Permission, permissions } from '../core/accounts/api-key.ts'
import { endKey, makeKey } from '../setup/keys.ts'
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
      answer(command, async (context) => {
        const accountId = await existingAccount(context.db, options.account)
        const key = { accountId, permissions: options.permission, expiresInSeconds: options.expiresIn }
        return await makeKey(context, key, context.setting('API_KEY_PEPPER'))
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
      answer(command, async (context) => {
        if (await endKey(context, keyId)) return { keyId }
        throw new CliError('not_found', `No key ${keyId}; see them with: outbound key list --account ID`)
      }),
    )
}
