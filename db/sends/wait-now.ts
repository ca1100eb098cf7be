import type { Wait } from '../../src/core/explanation/model.ts'
import { type ReasonToWait, reasonsToWait } from '../reasons-to-wait.ts'
import { sqlText } from '../statement.ts'

const reasons: Record<string, ReasonToWait> = reasonsToWait

/** SQL of the relation `reason`: whether a queued send `s` with its channel waits for each, and until when. Whether it has a permit isn't looked at. */
const eachReason = sqlText`
  (values
    ${Object.entries(reasons)
      .map(
        ([name, { isWaiting, until }], place) => sqlText`
        (${place}, '${name}',
         ${isWaiting},
         ${until ?? 'null::timestamptz'})`,
      )
      .join(',\n')}) reason (place, name, is_waiting, until)`

/** SQL of the reason that counts for a queued send `s` with its channel, and of its end: no row if the send waits for nothing but a worker. */
export const reasonNow = sqlText`
  select reason.name, reason.until
  from ${eachReason}
  where reason.is_waiting
  order by reason.place limit 1`

/** SQL of all reasons for which a queued send `s` with its channel waits, as a list in JSON, the strongest first. */
export const reasonsNow = sqlText`
  (select coalesce(json_agg(json_build_object('reason', reason.name, 'until', reason.until)
                            order by reason.place), '[]')
   from ${eachReason}
   where reason.is_waiting)`

/** Whether it is known before if a send will wait for it: it follows from the time, or is an event of the channel that may take long. */
const isKnownBefore = ({ of, until, untilAt, endsByPermit }: ReasonToWait) =>
  untilAt !== undefined || (of === 'channel' && until === null && !endsByPermit)

/** SQL of the reasons for which a send `s` with its channel will wait at a later time, as far as they are known, as `reasonsNow` has them. */
export const reasonsAt = (at: string) => sqlText`
  (select coalesce(json_agg(json_build_object('reason', reason.name, 'until', reason.until)
                            order by reason.place), '[]')
   from (values
     ${Object.entries(reasons)
       .filter(([, reason]) => isKnownBefore(reason))
       .map(
         ([name, { isWaiting, untilAt }], place) => sqlText`
           (${place}, '${name}',
            ${untilAt ? `${untilAt(at)} is not null` : isWaiting},
            ${untilAt?.(at) ?? 'null::timestamptz'})`,
       )
       .join(',\n')}
   ) reason (place, name, is_waiting, until)
   where reason.is_waiting)`

/** The wait of a send, by what `reasonNow` found. */
export function waitFor(name: string | null, until: Date | null): Wait | null {
  const reason = name === null ? undefined : reasons[name]
  return name !== null && reason ? { name, until, texts: reason.texts } : null
}
