import { expect, test } from 'vitest'
import { sendEvents, sends } from '../../db/schema.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { attemptsInDoubt } from '../../src/core/sends/doubt.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { TimelineEventName } from '../../src/core/sends/timeline-events.ts'
import { buildSendRow, timelineOf } from '../support/attempts.ts'
import { buildAccount } from '../support/builders.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime
const account = await buildAccount(service)

interface Step {
  event: TimelineEventName
  fields: Record<string, unknown>
}
type Word = AttemptOutcome['outcome']
const step = (event: TimelineEventName, fields: Step['fields'] = {}): Step => ({ event, fields })
const lost = (attempt: number) => step('attempt_lost', { attempt, reason: 'gone' })
const lostBeforeCall = (attempt: number) => step('attempt_lost', { attempt, outcome: 'not_called' })
const ended = (attempt: number, outcome: Word) => step('attempt_finished', { attempt, outcome })
const late = (attempt: number, outcome: Word) => step('attempt_finished', { attempt, outcome, late: true })
const replayed = step('replayed')
const settledAsFailed = step('settled', { as: 'failed', reason: 'not in their log' })
const fellBack = step('fell_back', { fromChannelId: 'a', toChannelId: 'b', reason: 'no such number' })

/** Timelines of sends that wait, and the attempts of each that may have got through. */
const cases: [string, Step[], number[]][] = [
  ['no attempt', [], []],
  ['a refusal', [ended(1, 'rejected')], []],
  ['failures that are tried again', [ended(1, 'retry_later'), ended(2, 'retry_later')], []],
  [
    'attempts that were not made',
    [ended(1, 'not_called'), ended(1, 'channel_refused'), lostBeforeCall(1)],
    [],
  ],
  ['an uncertain attempt', [ended(1, 'uncertain')], [1]],
  ['a lost attempt', [lost(1)], [1]],
  ['a lost attempt, and then a refused one', [lost(1), ended(2, 'rejected')], [1]],
  ['an uncertain attempt, and then a failed one', [ended(1, 'uncertain'), ended(2, 'retry_later')], [1]],
  ['an attempt after one of its number that was not made', [lostBeforeCall(1), lost(1)], [1]],
  ['a lost attempt that was refused late', [lost(1), late(1, 'rejected')], []],
  ['a lost attempt that failed late', [lost(1), late(1, 'retry_later')], []],
  ['a lost attempt whose channel was refused late', [lost(1), late(1, 'channel_refused')], []],
  ['a lost attempt that made no call, as is known late', [lost(1), late(1, 'not_called')], []],
  [
    'a lost attempt that was refused late, and then a refused one',
    [lost(1), late(1, 'rejected'), ended(2, 'rejected')],
    [],
  ],
  ['a lost attempt that was refused during the next', [lost(1), lost(2), late(1, 'rejected')], [2]],
  [
    'two lost attempts that were refused late',
    [lost(1), lost(2), late(2, 'rejected'), late(1, 'retry_later')],
    [],
  ],
  ['a lost attempt that is uncertain late, too', [lost(1), late(1, 'uncertain')], [1]],
  ['a lost attempt, replayed before its late success', [lost(1), replayed, late(1, 'sent')], [1]],
  ['an uncertain attempt before a replay', [ended(1, 'uncertain'), replayed], [1]],
  ['attempts of which a person found none', [lost(1), ended(2, 'uncertain'), settledAsFailed, replayed], []],
  ['a lost attempt after a person found none', [lost(1), settledAsFailed, replayed, lost(2)], [2]],
  ['a late success after a person found none', [lost(1), settledAsFailed, replayed, late(1, 'sent')], [1]],
  ['an uncertain attempt on a former channel', [ended(1, 'uncertain'), step('undelivered'), fellBack], []],
  ['a lost attempt on a fallback', [ended(1, 'rejected'), fellBack, lost(2)], [2]],
]

test.each(cases)(
  'the timeline and the cancel agree on what may have got through, in whatever order it was stored: %s',
  async (_what, steps, inDoubt) => {
    const began = Date.now() - 60_000
    const events = steps.map((one, second) => ({ ...one, at: new Date(began + second * 1000) }))
    for (const stored of [events, events.toReversed()]) {
      const row = buildSendRow(account, { acceptedAt: new Date(began - 1000), attempt: steps.length })
      const { requestId } = row
      await db.insert(sends).values(row)
      if (stored.length > 0) await db.insert(sendEvents).values(stored.map((one) => ({ requestId, ...one })))
      expect([...attemptsInDoubt((await timelineOf(service, requestId)).events)]).toEqual(inDoubt)
      const status = inDoubt.length > 0 ? 'uncertain' : 'canceled'
      expect(await cancelSend(db, requestId)).toMatchObject({ status, isNew: true })
    }
  },
)
