import type { Command } from 'commander'
import { listAccounts, type RateLimit } from '../../db/accounts/accounts.ts'
import { limitAccount, makeAccount } from '../setup/accounts.ts'
import type { Answerer } from './answer.ts'
import { displayName } from './argument.ts'
import { existingAccount, rateLimit } from './arguments.ts'

export function accountCommands(program: Command, answer: Answerer): void {
  const account = program.command('account')

  account
    .command('create')
    .requiredOption('--name <name>', 'a name to recognise it by', displayName)
    .option('--rate-limit <points/seconds>', "the account's rate limit, instead of the service's", rateLimit)
    .action((options: { name: string; rateLimit?: RateLimit }, command: Command) =>
      answer(command, async (context) => {
        const { accountId, warnings } = await makeAccount(context, options)
        return { accountId, ...(warnings.length > 0 && { warnings }) }
      }),
    )

  account
    .command('list')
    .action((_options: object, command: Command) =>
      answer(command, async ({ db }) => ({ accounts: await listAccounts(db) })),
    )

  account
    .command('update')
    .argument('<account>', "the account's id")
    .requiredOption('--rate-limit <points/seconds>', "the account's rate limit", rateLimit)
    .action((id: string, options: { rateLimit: RateLimit }, command: Command) =>
      answer(command, async (context) => {
        const accountId = await existingAccount(context.db, id)
        await limitAccount(context, accountId, options.rateLimit)
        return { accountId }
      }),
    )
}
