import type { Command } from 'commander'
import {
  createAccountByName,
  listAccounts,
  type RateLimit,
  updateRateLimit,
} from '../../db/accounts/accounts.ts'
import { audited } from '../../db/audit/record.ts'
import { type Answerer, CliError } from './answer.ts'
import { existingAccount, rateLimit } from './arguments.ts'
import { name } from './name.ts'

export function accountCommands(program: Command, answer: Answerer): void {
  const account = program.command('account')

  account
    .command('create')
    .requiredOption('--name <name>', 'a name to recognise it by', name)
    .option('--rate-limit <points/seconds>', "the account's rate limit, instead of the service's", rateLimit)
    .action((options: { name: string; rateLimit?: RateLimit }, command: Command) =>
      answer(command, async ({ db, actor }) => {
        const { name, rateLimit } = options
        const creation = await audited(
          db,
          (transaction) => createAccountByName(transaction, name, rateLimit),
          (creation) =>
            'created' in creation && {
              ...actor,
              action: 'account.create',
              target: creation.created,
              details: detailsOf(options),
            },
        )
        if ('created' in creation) return { accountId: creation.created }
        throw new CliError(
          'refused',
          `There is an account named ${name} already, ${creation.existing}: use it, or choose another name`,
        )
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
      answer(command, async ({ db, actor }) => {
        const accountId = await existingAccount(db, id)
        await audited(
          db,
          (transaction) => updateRateLimit(transaction, accountId, options.rateLimit),
          () => ({ ...actor, action: 'account.update', target: accountId, details: detailsOf(options) }),
        )
        return { accountId }
      }),
    )
}

const detailsOf = ({ name, rateLimit }: { name?: string; rateLimit?: RateLimit }) => ({
  ...(name !== undefined && { name }),
  ...(rateLimit && { rateLimit: `${rateLimit.points}/${rateLimit.seconds}` }),
})
