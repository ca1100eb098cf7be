import type { Command } from 'commander'
import { findProvider } from '../../db/accounts/channels.ts'
import { listTemplates } from '../../db/accounts/templates.ts'
import type { Database } from '../../db/connection/client.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { registerTemplate } from '../setup/channels/templates.ts'
import { SetupFault } from '../setup/setup-fault.ts'
import { type Answerer, CliError } from './answer.ts'
import { templateName } from './arguments.ts'
import { givenJson } from './given-json.ts'

interface SetOptions {
  channel: string
  name: string
  definition: unknown
}

export function templateCommands(program: Command, answer: Answerer): void {
  const template = program.command('template')

  template
    .command('set')
    .requiredOption('--channel <id>', 'the channel of the template')
    .requiredOption('--name <name>', 'the name that sends use', templateName)
    .requiredOption(
      '--definition <json>',
      'the template as the provider needs it, as @FILE, - for stdin, or JSON',
      givenJson('--definition'),
    )
    .action((options: SetOptions, command: Command) =>
      answer(command, async (context) => {
        const { channel: channelId, name, definition } = options
        const provider = await providerNameOf(context.db, channelId)
        try {
          await registerTemplate(context, { channelId, provider, name, definition })
        } catch (error) {
          if (!(error instanceof SetupFault)) throw error
          throw new CliError('usage', `Fix --definition for ${provider}: ${error.message}`)
        }
        return { channelId, name }
      }),
    )

  template
    .command('list')
    .requiredOption('--channel <id>', 'the channel of the templates')
    .action((options: { channel: string }, command: Command) =>
      answer(command, async ({ db }) => {
        await providerNameOf(db, options.channel)
        return { templates: await listTemplates(db, options.channel) }
      }),
    )
}

/** @throws CliError if there is no such channel. */
async function providerNameOf(db: Database, channelId: string): Promise<string> {
  const provider = canBeRecordId(channelId) ? await findProvider(db, channelId) : undefined
  if (provider) return provider
  throw new CliError(
    'not_found',
    `No channel ${channelId}; see them with: outbound channel list --account ID`,
  )
}
