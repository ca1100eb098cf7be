import type { Wait } from '../../src/core/explanation/model.ts'
import { type ReasonToWait, reasonsToWait } from '../reasons-to-wait.ts'
import { sqlText } from '../statement.ts'

const reasons: Record<string, ReasonToWait> = reasonsToWait

/**
 * SQL of the reason that counts for a queued send `s` with its channel, and of its end: no row if the send waits for nothing but a
 * worker. Whether it has a permit isn't looked at.
 */
export const reasonNow = sqlText`
  select reason.name, reason.until
  from (values
    ${Object.entries(reasons)
      .map(
        ([name, { isWaiting, until }], place) => sqlText`
        (${place}, '${name}',
         ${isWaiting},
         ${until ?? 'null::timestamptz'})`,
      )
      .join(',\n')}) reason (place, name, is_waiting, until)
  where reason.is_waiting
  order by reason.place limit 1`

/** The wait of a send, by what `reasonNow` found. */
export function waitFor(name: string | null, until: Date | null): Wait | null {
  const reason = name === null ? undefined : reasons[name]
  return name !== null && reason ? { name, until, texts: reason.texts } : null
}
