import { groupBy } from '../../support/group-by.ts'
import { failureCount, type ProviderCall, retryAfterMs } from '../behaviours.ts'
import { load } from '../clients.ts'
import { type Fault, violation, violationsOf } from '../fault.ts'
import { longestCallMs } from '../phase.ts'

/** Longer than any of the worker's own delays, so that it determines the next attempt. */
const retryWithinMs = 1000
const slotFreeWithinMs = 30_000
/** So few that calls that hang for the whole time-out never occupy all slots. */
const sendsPerSecond = 12

export const providerFaults: Fault = {
  name: 'provider',
  share: 0.03,
  times: () => failureCount,
  async strike(phase) {
    const { provider, sends } = phase
    const channelIds: string[] = []
    while (channelIds.length < sends) channelIds.push(await phase.openChannel('hold'))
    provider.behave('failing')
    await load(phase, { count: sends, seconds: sends / sendsPerSecond, channelIds })
    phase.notes.push(`${provider.calls.length} calls`)
  },
  mayFail: () => true,
  reach(phase, { rows }) {
    const { calls } = phase.provider
    const unknown = new Set(calls.flatMap((call) => (call.effect === 'unknown' ? call.requestId : [])))
    const groundless = rows.filter(
      ({ requestId, status }) => status === 'uncertain' && !unknown.has(requestId),
    )
    const longestMs = longestCallMs(calls)
    return [
      ...[...groupBy(calls, ({ requestId }) => requestId).values()].flatMap((callsOfSend) =>
        disregardOfRetryAfter(callsOfSend, phase.world.attempts),
      ),
      ...violation(longestMs > slotFreeWithinMs, `a call kept its slot for ${longestMs} ms`),
      ...violationsOf(groundless, 'the provider left nothing open'),
    ]
  },
}

function disregardOfRetryAfter(callsOfSend: readonly ProviderCall[], attempts: number): string[] {
  return callsOfSend.flatMap(({ requestId, treatment, answeredAt }, index) => {
    const next = callsOfSend[index + 1]
    if (treatment !== '429' || answeredAt === undefined || index + 1 === attempts) return []
    if (!next) return [`${requestId}: not called again after a Retry-After`]
    const waitedMs = next.arrivedAt - answeredAt
    const isHeeded = waitedMs >= retryAfterMs && waitedMs <= retryAfterMs + retryWithinMs
    return violation(
      !isHeeded,
      `${requestId}: called again ${waitedMs} ms after a Retry-After of ${retryAfterMs} ms`,
    )
  })
}
