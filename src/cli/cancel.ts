import type { Command } from 'commander'
import { withIdOrName } from '../../db/accounts/names.ts'
import { audited, auditedInPages } from '../../db/audit/record.ts'
import type { Database } from '../../db/connection/client.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { type CanceledSet, cancelWaiting, type WaitingSet } from '../../db/sends/cancel-sets.ts'
import { countSends } from '../../db/sends/list-count.ts'
import { sendCanceled, sendsCanceled } from '../core/accounts/audit-details.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { nothingThere, whatWasLeftOut } from '../core/sends/left-out.ts'
import { type Answerer, type CliContext, CliError, renderFields, renderWith } from './answer.ts'
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
    .option('--flow <id>', 'only sends in this flow, by its id or its name')
    .action((requestId: string | undefined, options: SetOptions, command: Command) =>
      answer<Canceled | { requestId: string }>(
        command,
        (context) =>
          requestId !== undefined && Object.keys(options).length === 0
            ? cancelOne(context, requestId)
            : cancelSet(context, requestId, options),
        render,
      ),
    )
}

type Canceled = Omit<CanceledSet, 'next'> & { leftOut?: Partial<Record<LeftOutState, number>> }

const leftOutStates = ['sent', 'failed', 'uncertain', 'canceled'] as const
type LeftOutState = (typeof leftOutStates)[number]

function render(answer: Canceled | { requestId: string }): string {
  if (!('tooLate' in answer)) return renderFields(answer)
  const { leftOut = {}, ...counts } = answer
  const { canceled, uncertain, tooLate } = counts
  return renderWith(
    counts,
    whatWasLeftOut(canceled + uncertain, { ...leftOut, tooLate }, nothingThere.cancel),
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
  if (!canceled)
    throw new CliError('not_found', `No send ${requestId}: it was never accepted, or is no longer kept`)
  const { status, isNew } = canceled
  if (isNew || status === 'canceled') return { requestId, status }
  throw new CliError('refused', `${requestId} is ${status}: only a send that waits can be canceled`)
}

async function cancelSet(
  { db, actor }: CliContext,
  requestId: string | undefined,
  options: SetOptions,
): Promise<Canceled> {
  const by = setOf(options)
  if (requestId !== undefined || options.account === undefined || !by)
    throw new CliError(
      'usage',
      'Give one requestId, or --account and either --reference or --flow for a set; see: outbound cancel --help',
    )
  const accountId = await existingAccount(db, options.account)
  const set = await existingSet(db, accountId, by)
  const total = await auditedInPages(
    db,
    { ...actor, ...sendsCanceled(accountId, set) },
    { change: () => cancelAll(db, { accountId, by: set }), resultOf: (total) => total },
  )
  return total.canceled + total.uncertain === 0
    ? { ...total, leftOut: await endedOf(db, accountId, set) }
    : total
}

/** The sends of the set by how they ended: why none was canceled. For sends that are being sent it is too late. */
async function endedOf(db: Database, accountId: string, set: WaitingSet['by']) {
  const counts = leftOutStates.map(async (status) => {
    const { count } = await countSends(db, accountId, { ...set, status, limit: 0 }, mostCounted)
    return [status, count] as const
  })
  return Object.fromEntries((await Promise.all(counts)).filter(([, count]) => count > 0))
}

/** Enough to say why nothing was canceled. */
const mostCounted = 100_000

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

/** The flow may be given by its name. */
async function existingSet(db: Database, accountId: string, by: WaitingSet['by']): Promise<WaitingSet['by']> {
  if (!('flowId' in by)) return by
  const found = await withIdOrName(db, 'flow', by.flowId)
  const [flow, ...others] = found.filter((flow) => flow.accountId === accountId)
  if (flow && others.length === 0) return { flowId: flow.id }
  if (!flow)
    throw new CliError(
      'not_found',
      `The account has no flow ${by.flowId}; see them with: outbound flow list --account ${accountId}`,
    )
  const ids = [flow, ...others].map(({ id }) => id).join(', ')
  throw new CliError('usage', `Several flows have the name ${by.flowId}. Give the id of one: ${ids}`)
}

function setOf({ reference, flow }: SetOptions): WaitingSet['by'] | undefined {
  if ((reference === undefined) === (flow === undefined)) return undefined
  return reference === undefined ? { flowId: flow ?? '' } : { reference }
}
