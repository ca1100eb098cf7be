import { auditedInPages } from '../../../db/audit/record.ts'
import { databaseNow } from '../../../db/connection/clock.ts'
import type { CanceledSend } from '../../../db/sends/cancel.ts'
import { cancelListPart, countListed, type WaitingList } from '../../../db/sends/cancel-lists.ts'
import { writeCursor } from '../../core/requests/list-query.ts'
import { whatWasLeftOut } from '../../core/sends/left-out.ts'
import { cancelEnd, logEnd } from '../../sends/send-end.ts'
import { type AdminRuntime, factory } from '../context.ts'
import { formatCount } from '../numbers/spans.ts'
import { Layout } from '../page/layout.tsx'
import {
  canBeCanceled,
  cancelNeeds,
  countIn,
  listChanged,
  maxOfList,
  momentIn,
  readSentList,
  type SentList,
  textIn,
} from './change-list.ts'
import { type LeftOut, LeftOutByFilter, leftOutOf } from './left-out.tsx'
import { type ListInput, queryOf } from './list-form.ts'
import { Hidden, ListButton } from './list-page.tsx'
import { sentenceOf } from './list-sentence.ts'
import { messages, Progress } from './progress.tsx'

/** So many of those that could not be canceled are named. */
const maxNamed = 20
const ids = /^(?:[0-9a-f-]{36}(?:,|$)){0,40}$/

/**
 * Cancels a list of sends that wait. The first form shows how many they are; the second one cancels them, part by part. Sends that
 * were accepted after the first form aren't in the list.
 */
export const cancelList = ({ db, log }: AdminRuntime) =>
  factory.createHandlers(async (c) => {
    const sent = await readSentList(db, c, canBeCanceled, cancelNeeds)
    const { input } = sent
    const sentence = await sentenceOf(db, input, sent.resolved)
    if (!('confirmed' in sent.fields)) {
      const countedAt = await databaseNow(db)
      const waiting = await countListed(db, listOf(sent, countedAt), maxOfList)
      const leftOut = await leftOutOf(db, sent, canBeCanceled)
      return c.html(<ConfirmationPage {...{ input, sentence, countedAt, waiting, leftOut }} />)
    }
    // A form of the previous release has no such field.
    const countedAt = 'countedAt' in sent.fields ? momentIn(sent.fields, 'countedAt') : await databaseNow(db)
    const part = await auditedInPages(db, listChanged(c, 'list.cancel', sent), {
      change: () =>
        cancelListPart(db, listOf(sent, countedAt), ({ requestId, ...end }: CanceledSend) =>
          logEnd(log, cancelEnd(requestId, end, { by: c.get('person').name })),
        ),
      resultOf: ({ canceled, uncertain, tooLate }) => ({
        canceled,
        uncertain: uncertain.length,
        tooLate: tooLate.length,
      }),
    })
    const before = doneIn(sent.fields)
    const done: Done = {
      canceled: before.canceled + part.canceled,
      uncertain: before.uncertain + part.uncertain.length,
      tooLate: before.tooLate + part.tooLate.length,
      left: [...before.left, ...part.uncertain, ...part.tooLate].slice(0, maxNamed),
    }
    const { after: _, ...list } = input
    const next = part.next && writeCursor(part.next)
    const total = countIn(sent.fields, 'of')
    return c.html(<CanceledPage {...{ input: list, countedAt, done, next, total }} />)
  })

/** The list as it was counted: what was accepted later isn't in it. */
const listOf = ({ form, resolved }: SentList, countedAt: Date): WaitingList => {
  const { limit: _, acceptedTo = countedAt, ...query } = queryOf(form, resolved, 0)
  const until = acceptedTo < countedAt ? acceptedTo : countedAt
  return { accountId: resolved.accountId, query: { ...query, acceptedTo: until } }
}

interface Done {
  canceled: number
  uncertain: number
  tooLate: number
  /** Some of those that were not canceled, or may arrive. */
  left: string[]
}

const doneIn = (fields: Record<string, unknown>): Done => ({
  canceled: countIn(fields, 'canceled'),
  uncertain: countIn(fields, 'uncertain'),
  tooLate: countIn(fields, 'tooLate'),
  left: textIn(fields, 'left', ids)?.split(',').filter(Boolean) ?? [],
})

interface ConfirmationProps {
  input: ListInput
  /** The list in words. */
  sentence: string
  countedAt: Date
  waiting: number
  leftOut: readonly LeftOut[]
}

function ConfirmationPage({ input, sentence, countedAt, waiting, leftOut }: ConfirmationProps) {
  return (
    <Layout title="Cancel a list?" at="/sends">
      <section class="verdict unsure">
        <h1>{waiting === 0 ? 'Nothing to cancel' : `Cancel ${messages(waiting)}?`}</h1>
        <p>
          {sentence}. Once canceled, they can't be sent again. Sends that are accepted from now on aren't in
          the list.
        </p>
        {waiting === maxOfList && (
          <p>The list may have more: so many are counted at most. All of it is canceled.</p>
        )}
        {waiting === 0 && <p>No {input.status} send matches this filter.</p>}
        <LeftOutByFilter state={input.status} leftOut={leftOut} />
        {waiting > 0 && (
          <form method="post" action="/sends/cancel" class="row">
            <Hidden fields={{ ...input, ...confirmed(countedAt, waiting) }} />
            <button type="submit" class="main danger">
              Cancel {formatCount(waiting)}
            </button>
          </form>
        )}
        <ListButton input={input} words="Leave them as they are" />
      </section>
    </Layout>
  )
}

const confirmed = (countedAt: Date, of: number) => ({
  countedAt: countedAt.toISOString(),
  of: String(of),
  confirmed: 'yes',
})

const noneWaits = 'None of these sends waits any more, or none did: see how they ended in the list.'

interface CanceledProps {
  input: ListInput
  countedAt: Date
  done: Done
  /** Where the next part begins. */
  next: string | undefined
  total: number
}

function CanceledPage({ input, countedAt, done, next, total }: CanceledProps) {
  const { canceled, uncertain, tooLate, left } = done
  const of = canceled + uncertain + tooLate
  const leftOut = whatWasLeftOut(canceled + uncertain, { tooLate }, noneWaits)
  return (
    <Layout title="Canceled" at="/sends">
      <section class="verdict over">
        <h1>{canceled === 0 ? 'Nothing was canceled' : `Canceled: ${messages(canceled)}`}</h1>
        {next !== undefined && (
          <form method="post" action="/sends/cancel">
            <Progress done={of} of={Math.max(total, of)} />
            <Hidden
              fields={{
                ...input,
                after: next,
                canceled: String(canceled),
                uncertain: String(uncertain),
                tooLate: String(tooLate),
                left: left.join(','),
                ...confirmed(countedAt, total),
              }}
            />
            <button type="submit" autofocus>
              Go on with the next ones
            </button>
          </form>
        )}
        {uncertain > 0 && (
          <p>{messages(uncertain)} will not be tried again, but an earlier attempt may have got through.</p>
        )}
        {leftOut !== '' && <p>{leftOut}</p>}
        {left.length > 0 && (
          <ul>
            {left.map((requestId) => (
              <li>
                <a href={`/support/${requestId}`} class="id">
                  {requestId}
                </a>
              </li>
            ))}
          </ul>
        )}
        {uncertain + tooLate > left.length && <p>These are the first {left.length} of them.</p>}
        <ListButton input={input} words="Back to the list" />
      </section>
    </Layout>
  )
}
