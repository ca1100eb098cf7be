import type { Command } from 'commander'
import { createFlow, listFlows } from '../../db/accounts/flows.ts'
import { audited } from '../../db/audit/record.ts'
import type { Answerer } from './answer.ts'
import { existingAccount } from './arguments.ts'
import { name } from './name.ts'

export function flowCommands(program: Command, answer: Answerer): void {
  const flow = program.command('flow')

  flow
    .command('create')
    .requiredOption('--account <id>', 'the account that owns the flow')
    .requiredOption('--name <name>', 'a name to recognise it by', name)
    .action((options: { account: string; name: string }, command: Command) =>
      answer(command, async ({ db, actor }) => {
        const { name } = options
        const accountId = await existingAccount(db, options.account)
        const flowId = await audited(
          db,
          (transaction) => createFlow(transaction, accountId, name),
          (target) => ({ ...actor, action: 'flow.create', target, details: { accountId, name } }),
        )
        return { flowId }
      }),
    )

  flow
    .command('list')
    .requiredOption('--account <id>', 'the account that owns the flows')
    .action((options: { account: string }, command: Command) =>
      answer(command, async ({ db }) => ({
        flows: await listFlows(db, await existingAccount(db, options.account)),
      })),
    )
}
