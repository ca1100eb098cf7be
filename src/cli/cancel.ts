import type { Command } from 'commander'
import type { Database } from '../../db/client.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { type Answerer, CliError } from './answer.ts'

export function cancelCommand(program: Command, answer: Answerer): void {
  program
    .command('cancel')
    .description('cancel a send that waits: its provider is not called any more')
    .argument('<requestId>')
    .action((requestId: string, _options: object, command: Command) =>
      answer(command, ({ db }) => cancelOne(db, requestId)),
    )
}

async function cancelOne(db: Database, requestId: string) {
  const canceled = canBeRecordId(requestId) ? await cancelSend(db, requestId) : undefined
  if (!canceled) throw new CliError(`No send ${requestId}: it was never accepted, or is no longer kept`)
  const { status, isNew } = canceled
  if (isNew || status === 'canceled') return { requestId, status }
  throw new CliError(`${requestId} is ${status}: only a send that waits can be canceled`)
}
