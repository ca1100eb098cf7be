import type { Command } from 'commander'
import { listFlows } from '../../db/accounts/flows.ts'
import { makeFlow } from '../setup/flows.ts'
import type { Answerer } from './answer.ts'
import { displayName } from './argument.ts'
import { existingAccount } from './arguments.ts'

export function flowCommands(program: Command, answer: Answerer): void {
  const flow = program.command('flow')

  flow
    .command('create')
    .requiredOption('--account <id>', 'the account that owns the flow')
    .requiredOption('--name <name>', 'a name to recognise it by', displayName)
    .action((options: { account: string; name: string }, command: Command) =>
      answer(command, async (context) => {
        const accountId = await existingAccount(context.db, options.account)
        return { flowId: await makeFlow(context, accountId, options.name) }
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
