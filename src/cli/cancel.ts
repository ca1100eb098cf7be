import type { Command } from 'commander'
import { audited, auditedInPages } from '../../db/audit/record.ts'
import type { Database } from '../../db/client.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { type CanceledSet, cancelWaiting, type WaitingSet } from '../../db/sends/cancel-sets.ts'
import { sendCanceled, sendsCanceled } from '../core/audit-details.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { existingAccount } from './arguments.ts'

interface SetOptions {
  account?: string
  reference?: string
  flow?: string
}

export function cancelCommand(program: Command, answer: Answerer): void {
  program
    .command('cancel')
    .argument('[requestId]', 'one send')
    .option('--account <id>', 'a set of sends: those of this account')
    .option('--reference <reference>', 'only sends with this reference')
    .option('--flow <id>', 'only sends in this flow')
    .action((requestId: string | undefined, options: SetOptions, command: Command) =>
      answer<object>(command, (context) =>
        requestId !== undefined && Object.keys(options).length === 0
          ? cancelOne(context, requestId)
          : cancelSet(context, requestId, options),
      ),
    )
}

async function cancelOne({ db, actor }: CliContext, requestId: string) {
  const canceled = canBeRecordId(requestId)
    ? await audited(
        db,
        (transaction) => cancelSend(transaction, requestId),
        (canceled) => canceled?.isNew && { ...actor, ...sendCanceled(requestId, canceled.status) },
      )
    : undefined
  if (!canceled) throw new CliError(`No send ${requestId}: it was never accepted, or is no longer kept`)
  const { status, isNew } = canceled
  if (isNew || status === 'canceled') return { requestId, status }
  throw new CliError(`${requestId} is ${status}: only a send that waits can be canceled`)
}

async function cancelSet({ db, actor }: CliContext, requestId: string | undefined, options: SetOptions) {
  const by = setOf(options)
  if (requestId !== undefined || options.account === undefined || !by)
    throw new CliError(
      'Give one requestId, or --account and either --reference or --flow for a set; see: outbound cancel --help',
    )
  const accountId = await existingAccount(db, options.account)
  return await auditedInPages(
    db,
    { ...actor, ...sendsCanceled(accountId, by) },
    { change: () => cancelAll(db, { accountId, by }), resultOf: (total) => total },
  )
}

async function cancelAll(db: Database, set: WaitingSet) {
  const total = { canceled: 0, uncertain: 0, tooLate: 0 }
  let after: CanceledSet['next']
  do {
    const { next, ...counts } = await cancelWaiting(db, { ...set, after })
    for (const name of ['canceled', 'uncertain', 'tooLate'] as const) total[name] += counts[name]
    after = next
  } while (after)
  return total
}

function setOf({ reference, flow }: SetOptions): WaitingSet['by'] | undefined {
  if ((reference === undefined) === (flow === undefined)) return undefined
  return reference === undefined ? { flowId: flow ?? '' } : { reference }
}
