import { type Command, Option } from 'commander'
import { findProvider } from '../../db/channels.ts'
import type { Database } from '../../db/client.ts'
import { type ReplayableStatus, replaySend, replaySends } from '../../db/replays.ts'
import { findSend } from '../../db/sends.ts'
import { erasedContactValue } from '../core/contact.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { answer, CliError } from './answer.ts'
import { wholeNumber } from './arguments.ts'

const defaultLimit = 1000

interface SetOptions {
  channel?: string
  status?: ReplayableStatus
  limit?: number
}

export function replayCommand(program: Command): void {
  program
    .command('replay')
    .description('call the provider again for a send that failed or is uncertain, or for a set of them')
    .argument('[requestId]', 'one send')
    .option('--channel <id>', 'a set: the sends of this channel …')
    .addOption(new Option('--status <status>', '… that are').choices(['failed', 'uncertain']))
    .option('--limit <n>', `the oldest of them; ${defaultLimit} unless told`, wholeNumber)
    .action((requestId: string | undefined, options: SetOptions, command: Command) =>
      answer(command, async ({ db }) => {
        const { channel, status, limit } = options
        if (requestId !== undefined && Object.keys(options).length === 0)
          return await replayOne(db, requestId)
        if (requestId !== undefined || channel === undefined || status === undefined) {
          throw new CliError('Name one send, or a set by --channel and --status; see: replay --help')
        }
        if (!(canBeRecordId(channel) && (await findProvider(db, channel)))) {
          throw new CliError(`No channel ${channel}; see them with: channel list --account ID`)
        }
        const set = { channelId: channel, status, limit: limit ?? defaultLimit }
        return { replayed: await replaySends(db, set) }
      }),
    )
}

async function replayOne(db: Database, requestId: string) {
  if (canBeRecordId(requestId) && (await replaySend(db, requestId))) return { replayed: 1, requestId }
  const found = canBeRecordId(requestId) ? await findSend(db, requestId) : undefined
  if (found?.send.contactValue === erasedContactValue) {
    throw new CliError(
      `The contact of ${requestId} was erased, and its content with it: there is nothing to send`,
    )
  }
  switch (found?.send.status) {
    case undefined:
      throw new CliError(`No send ${requestId}: it was never accepted, or is no longer kept`)
    case 'sent':
      throw new CliError(`${requestId} was sent: a replay would send it twice. Post a new send instead`)
    case 'queued':
    case 'sending':
      throw new CliError(`${requestId} is still on its way; see: trace ${requestId}`)
    case 'failed':
    case 'uncertain':
      throw new CliError(`The media of ${requestId} is no longer kept. Post a new send instead`)
  }
}
