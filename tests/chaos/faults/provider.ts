import { groupBy } from '../../support/group-by.ts'
import { answer, answerRaw, neverAnswer, resetAfterReading, trickle } from '../../support/webhook-receiver.ts'
import { load } from '../clients.ts'
import { type Fault, violation, violationsOf } from '../fault.ts'
import { longestCallMs } from '../phase.ts'
import { accepts, type ProviderCall, type Treatment } from '../provider.ts'

const retryAfterMs = 2000
/** Longer than any of the worker's own delays, so that it determines the next attempt. */
const retryWithinMs = 1000
const slotFreeWithinMs = 30_000
/** So few that calls that hang for the whole time-out never occupy all slots. */
const sendsPerSecond = 12
/** Failures per send, each on its own channel: with more, a circuit breaker would determine the next attempt. */
const maxFailures = 4

const whole = `HTTP/1.1 200 OK\r\nx-filler: ${'x'.repeat(2000)}\r\ncontent-length: 0\r\n\r\n`
const head = 'HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n'

/** Each entry applies to one call in ten; all other calls are accepted. */
const treatments: Treatment[] = [
  { name: '500', effect: 'refused', act: answer(500) },
  { name: '503', effect: 'refused', act: answer(503) },
  { name: '429', effect: 'refused', act: answer(429, { 'retry-after': String(retryAfterMs / 1000) }) },
  { name: 'time-out', effect: 'unknown', act: neverAnswer },
  { name: 'reset', effect: 'unknown', act: resetAfterReading },
  { name: 'trickled answer', effect: 'unknown', act: trickle('', whole) },
  { name: 'garbage', effect: 'unknown', act: answerRaw('SSH-2.0-OpenSSH_9.6\r\n') },
]
/** The status arrives and counts, so this call is accepted. */
const trickledBody: Treatment = {
  name: 'trickled body',
  effect: 'accepted',
  act: trickle(head, ' '.repeat(2000)),
}

export const providerFaults: Fault = {
  name: 'provider',
  share: 0.03,
  times: () => treatments.length,
  async strike(phase) {
    const { provider, random, sends } = phase
    const channelIds: string[] = []
    while (channelIds.length < sends) channelIds.push(await phase.openChannel('hold'))
    provider.treat = ({ number }) => {
      if (number > maxFailures) return accepts
      const treatment = treatments[Math.floor(random() * 10)] ?? accepts
      return treatment.name === 'trickled answer' && random() < 0.5 ? trickledBody : treatment
    }
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
