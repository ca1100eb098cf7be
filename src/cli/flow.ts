import type { Command } from 'commander'
import { createFlow, listFlows } from '../../db/accounts/flows.ts'
import type { Answerer } from './answer.ts'
import { existingAccount, name } from './arguments.ts'

export function flowCommands(program: Command, answer: Answerer): void {
  const flow = program.command('flow')

  flow
    .command('create')
    .requiredOption('--account <id>', 'the account that owns the flow')
    .requiredOption('--name <name>', 'a name to recognise it by', name)
    .action((options: { account: string; name: string }, command: Command) =>
      answer(command, async ({ db }) => ({
        flowId: await createFlow(db, await existingAccount(db, options.account), options.name),
      })),
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
