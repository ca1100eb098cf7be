import type { Command } from 'commander'
import { audited, auditedInPages } from '../../db/audit/record.ts'
import { findEndpoint } from '../../db/callbacks/endpoints.ts'
import { type ResentCallbacks, resendCallbacks, resendOfSend } from '../../db/callbacks/resends.ts'
import { findSend } from '../../db/sends/sends.ts'
import { endpointResent } from '../core/accounts/audit-details.ts'
import { resendSchema } from '../core/callbacks/endpoint-request.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import { nothingThere, whatWasLeftOut } from '../core/sends/left-out.ts'
import { type Answerer, type CliContext, CliError, renderWith } from './answer.ts'
import { checkedOptions } from './arguments.ts'
import { noEndpoint } from './endpoint.ts'

interface RedeliverOptions {
  endpoint?: string
  since?: string
  only?: string
}

export function callbackCommands(program: Command, answer: Answerer): void {
  program
    .command('callback')
    .command('redeliver')
    // Its name in releases before: kept for one more.
    .alias('resend')
    .description('call endpoints once more, with the same webhook-id: of a send, or all since a time')
    .argument('[requestId]', 'one send')
    .option('--endpoint <id>', 'only this endpoint')
    .option('--since <time>', '2026-11-21T14:00:00Z, or 1h for an hour ago')
    .option('--only <what>', 'given-up: only callbacks that were given up')
    .action((requestId: string | undefined, options: RedeliverOptions, command: Command) =>
      answer<Resent>(command, (context) => redeliver(context, requestId, options), render),
    )
}

/** `leftOut` says why nothing of a set was sent again. */
type Resent = Pick<ResentCallbacks, 'resent'> & Partial<ResentCallbacks>

function render({ resent, leftOut }: Resent): string {
  const why = leftOut
    ? whatWasLeftOut(resent, leftOut, nothingThere.callbacks)
    : resent === 0
      ? noneOfSend
      : ''
  return renderWith({ resent }, why)
}

const noneOfSend =
  'The send has no callback that has ended: its account has no endpoint that takes its changes, or they still wait.'

async function redeliver(
  { db, actor }: CliContext,
  requestId: string | undefined,
  options: RedeliverOptions,
): Promise<Resent> {
  const { endpoint, since, only } = options
  const found = canBeRecordId(endpoint ?? '') ? await findEndpoint(db, String(endpoint)) : undefined
  if (endpoint !== undefined && !found) throw noEndpoint(endpoint)
  if (requestId !== undefined && since === undefined && only === undefined) {
    if (!(canBeRecordId(requestId) && (await findSend(db, requestId))))
      throw new CliError('not_found', `No send ${requestId}: it was never accepted, or is no longer kept`)
    if (found && !(await findSend(db, requestId, found.accountId)))
      throw new CliError(
        'refused',
        `The endpoint ${endpoint} gets no callbacks of this send: another account posted it; see: outbound endpoint list --account ID`,
      )
    const resent = await audited(
      db,
      (transaction) => resendOfSend(transaction, { requestId, endpointId: endpoint }),
      (resent) => ({
        ...actor,
        action: 'send.resend_callbacks',
        target: requestId,
        details: { ...(endpoint !== undefined && { endpointId: endpoint }), resent },
      }),
    )
    return { resent }
  }
  if (requestId !== undefined || endpoint === undefined || since === undefined)
    throw new CliError(
      'usage',
      'Give one requestId, or --endpoint and --since; see: outbound callback redeliver --help',
    )
  const asked = checkedOptions(resendSchema, { since, only })
  const set = { endpointId: endpoint, since: asked.since, onlyGivenUp: asked.only !== undefined }
  const { resent, leftOut } = await auditedInPages(
    db,
    { ...actor, ...endpointResent(set) },
    { change: () => resendCallbacks(db, set), resultOf: ({ resent }) => ({ resent }) },
  )
  return { resent, ...(resent === 0 && { leftOut }) }
}
