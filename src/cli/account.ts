import type { Command } from 'commander'
import {
  accountsNamed,
  createAccount,
  listAccounts,
  type RateLimit,
  updateRateLimit,
} from '../../db/accounts/accounts.ts'
import { audited } from '../../db/audit/record.ts'
import type { Answerer } from './answer.ts'
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
        const others = await accountsNamed(db, name)
        const accountId = await audited(
          db,
          (transaction) => createAccount(transaction, name, rateLimit),
          (target) => ({ ...actor, action: 'account.create', target, details: detailsOf(options) }),
        )
        const warnings = others.map((id) => `The account ${id} has this name, too.`)
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
