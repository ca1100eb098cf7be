import { outcomesInDoubt } from '../../src/core/sends/doubt.ts'
import { ownReasons } from '../../src/core/sends/own-reasons.ts'
import { sqlText } from '../statement.ts'

/*
 * The rule whether a message may have got through (src/core/sends/doubt.ts), as SQL conditions on a send `s`. One table of cases holds
 * both to the same answer (tests/api/doubt.test.ts).
 */

const areInDoubt = `(${outcomesInDoubt.map((outcome) => `'${outcome}'`).join(', ')})`

/**
 * An attempt of a queued send `s` may have got through. All its attempts are in send_events. Events are compared by their times, as a
 * timeline has them: the loss of an attempt leaves the row, and is stored, after a refusal that came late.
 */
export const mayHaveGotThrough = sqlText`
  exists (
    select from send_events e
    where e.request_id = s.request_id
      and (e.event = 'attempt_lost' and e.fields->>'outcome' is distinct from 'not_called'
           or e.event = 'attempt_finished' and e.fields->>'outcome' in ${areInDoubt})
      and not exists (
        select from send_events later
        where later.request_id = e.request_id and (later.at, later.id) > (e.at, e.id)
          and (later.event = 'attempt_finished'
               and later.fields->>'attempt' = e.fields->>'attempt'
               and later.fields->>'outcome' not in ${areInDoubt}
               or later.event = 'settled' and later.fields->>'as' = 'failed'
               or later.event = 'fell_back')))`

/** A send `s` was canceled after an attempt that may have got through. Null if it has no reason. */
export const isCanceledInDoubt = `(s.failure = '${ownReasons.canceledInDoubt}')`
