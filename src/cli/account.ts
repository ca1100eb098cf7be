import type { Command } from 'commander'
import { listAccounts } from '../../db/accounts/accounts.ts'
import { type AccountChange, limitAccount, makeAccount, type NewAccount } from '../setup/accounts.ts'
import { type Answerer, CliError } from './answer.ts'
import { displayName } from './argument.ts'
import { existingAccount, rateLimit } from './arguments.ts'
import { ceilingOption } from './channel-options.ts'

export function accountCommands(program: Command, answer: Answerer): void {
  const account = program.command('account')

  account
    .command('create')
    .requiredOption('--name <name>', 'a name to recognise it by', displayName)
    .option('--rate-limit <points/seconds>', "the account's rate limit, instead of the service's", rateLimit)
    .option(...ceilingOption)
    .action((options: NewAccount, command: Command) =>
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
    .option('--rate-limit <points/seconds>', "the account's rate limit", rateLimit)
    .option(...ceilingOption)
    .action((id: string, options: AccountChange, command: Command) =>
      answer(command, async (context) => {
        const accountId = await existingAccount(context.db, id)
        if (Object.keys(options).length === 0)
          throw new CliError('usage', 'Nothing to change; see: outbound account update --help')
        await limitAccount(context, accountId, options)
        return { accountId }
      }),
    )
}
