import type { Command } from 'commander'
import { createAccount, listAccounts, type RateLimit, updateRateLimit } from '../../db/accounts/accounts.ts'
import type { Answerer } from './answer.ts'
import { existingAccount, name, rateLimit } from './arguments.ts'

export function accountCommands(program: Command, answer: Answerer): void {
  const account = program.command('account')

  account
    .command('create')
    .requiredOption('--name <name>', 'a name to recognise it by', name)
    .option('--rate-limit <points/seconds>', "the account's rate limit, instead of the service's", rateLimit)
    .action((options: { name: string; rateLimit?: RateLimit }, command: Command) =>
      answer(command, async ({ db }) => ({
        accountId: await createAccount(db, options.name, options.rateLimit),
      })),
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
      answer(command, async ({ db }) => {
        const accountId = await existingAccount(db, id)
        await updateRateLimit(db, accountId, options.rateLimit)
        return { accountId }
      }),
    )
}
