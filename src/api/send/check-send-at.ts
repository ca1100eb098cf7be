import type { When } from '../../../db/admission/accepts.ts'
import { sendAtIssue } from '../../core/sends/send-at.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'

/** When a send is to be sent, and why it can't be scheduled for that time. */
export interface Schedule {
  when: When
  /** A 400, unless the request repeats an earlier one, whose time may have passed meanwhile. */
  issue?: string | undefined
}

/** The schedule of a send without `sendAt`, as most are. */
export const atOnce: Schedule = { when: 'now' }

/** Compares `sendAt` with PostgreSQL's clock (docs/reference/api.md#send-later). */
export function createCheckSendAt({ clock, settings }: Needs<'clock', 'SCHEDULE_MAX_DAYS'>) {
  return async ({ deadline }: Pick<RequestState, 'deadline'>, sendAt: Date): Promise<Schedule> => {
    // Not later than PostgreSQL's, so that no send counts as due that isn't.
    const nowMs = (await deadline.spend(clock.aheadMs())) + performance.now()
    return {
      when: sendAt.getTime() > nowMs ? 'later' : 'now',
      issue: sendAtIssue(sendAt, nowMs, settings.SCHEDULE_MAX_DAYS),
    }
  }
}
