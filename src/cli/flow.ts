import type { Command } from 'commander'
import { listFlows } from '../../db/accounts/flows.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { endFlow, makeFlow } from '../setup/flows.ts'
import { unfinishedSends } from '../setup/setup-fault.ts'
import { type Answerer, CliError } from './answer.ts'
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
    .command('delete')
    .description('delete the flow; refused while sends of it have not ended, and finished ones keep its id')
    .argument('<flow>', "the flow's id")
    .action((id: string, _options: object, command: Command) =>
      answer(command, async (context) => {
        const ended = canBeRecordId(id) ? await endFlow(context, id) : undefined
        if (ended === undefined)
          throw new CliError('not_found', `No flow ${id}; see them with: outbound flow list --account ID`)
        if (ended === 'deleted') return { flowId: id }
        throw new CliError(
          'refused',
          `The flow has ${unfinishedSends(ended.unfinished)}: let them end, or cancel them with: outbound cancel --account ID --flow ${id}`,
        )
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
