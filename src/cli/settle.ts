import type { Command } from 'commander'
import { audited } from '../../db/audit/record.ts'
import { findSend } from '../../db/sends/sends.ts'
import { settleSend } from '../../db/sends/settle.ts'
import { sendSettled } from '../core/accounts/audit-details.ts'
import { contactInReason } from '../core/contacts/names-contact.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { operatorsWords } from './arguments.ts'

interface Options {
  asSent?: true
  asFailed?: true
  reason: string
}

export function settleCommand(program: Command, answer: Answerer): void {
  program
    .command('settle')
    .argument('<requestId>', 'the send')
    .option('--as-sent', 'the provider has the message')
    .option('--as-failed', "the provider doesn't have it")
    .requiredOption('--reason <text>', 'how that is known', operatorsWords)
    .action((requestId: string, options: Options, command: Command) =>
      answer(command, (context) => settle(context, requestId, options)),
    )
}

async function settle({ db, actor }: CliContext, requestId: string, { asSent, asFailed, reason }: Options) {
  if (Boolean(asSent) === Boolean(asFailed))
    throw new CliError('usage', 'Give either --as-sent or --as-failed; see: outbound settle --help')
  const as = asSent ? 'sent' : 'failed'
  const find = async () => (canBeRecordId(requestId) ? await findSend(db, requestId) : undefined)
  const found = await find()
  if (!found)
    throw new CliError('not_found', `No send ${requestId}: it was never accepted, or is no longer kept`)
  const fault = contactInReason(reason, found.send.contactValue)
  if (fault !== undefined) throw new CliError('usage', `Fix --reason: ${fault}`)
  const settled = await audited(
    db,
    (transaction) => settleSend(transaction, requestId, as, reason),
    (settled) => settled && { ...actor, ...sendSettled(requestId, as, reason) },
  )
  if (settled) return { requestId, status: settled.status }
  const { status } = (await find())?.send ?? found.send
  throw new CliError(
    'refused',
    `${requestId} is ${status}: only an uncertain send can be settled; see: outbound trace ${requestId}`,
  )
}
