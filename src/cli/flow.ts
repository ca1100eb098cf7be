import type { Command } from 'commander'
import { createFlow, listFlows } from '../../db/accounts/flows.ts'
import type { Answerer } from './answer.ts'
import { existingAccount, name } from './arguments.ts'

export function flowCommands(program: Command, answer: Answerer): void {
  const flow = program.command('flow').description('what sends can be associated with')

  flow
    .command('create')
    .requiredOption('--account <id>', 'whose flow it is')
    .requiredOption('--name <name>', 'what people call it', name)
    .action((options: { account: string; name: string }, command: Command) =>
      answer(command, async ({ db }) => ({
        flowId: await createFlow(db, await existingAccount(db, options.account), options.name),
      })),
    )

  flow
    .command('list')
    .requiredOption('--account <id>', 'whose flows')
    .action((options: { account: string }, command: Command) =>
      answer(command, async ({ db }) => ({
        flows: await listFlows(db, await existingAccount(db, options.account)),
      })),
    )
}
