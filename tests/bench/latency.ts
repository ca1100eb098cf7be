import { setTimeout as sleep } from 'node:timers/promises'
import { newContact } from '../support/builders.ts'
import { nowMs } from './clock.ts'
import { percentile } from './figures.ts'
import type { Accepted, Post, Sender, Stream } from './post.ts'
import type { Provider } from './provider.ts'
import type { Stage } from './stage.ts'

/** A steady load on one channel. */
export interface Load {
  sender: Sender
  perSecond: number
  /** Default: texts, each to another contact. */
  postOf?: () => Post
  /** Whether its sends may never arrive, so that they aren't waited for. */
  mayFail?: true
}

/** Sends that have not reached the provider by then count with this time. */
const patienceMs = 15_000
const askEveryMs = 250
/** The beginning of a load isn't measured. */
const unmeasuredSeconds = 1

/**
 * Puts all loads on the service at once, for the given seconds.
 *
 * @returns for each load the times from a 202 to the arrival at the provider, in milliseconds.
 */
export async function latenciesOf(
  stage: Stage,
  loads: readonly Load[],
  seconds: number,
): Promise<number[][]> {
  await stage.provider.forget()
  const accepted = await stage.client.postSteadily(loads.map((load) => streamOf(load, seconds)))
  const arrivals = await arrivalsOf(
    stage.provider,
    accepted.filter((_, index) => !loads[index]?.mayFail).flat(),
  )
  const over = nowMs()
  // The call may arrive before the answer has been read.
  const latency = ({ requestId, acceptedAt }: Accepted) =>
    Math.max(0, (arrivals.get(requestId) ?? over) - acceptedAt)
  const unmeasured = unmeasuredSeconds / (unmeasuredSeconds + seconds)
  return accepted.map((sends) => sends.slice(Math.round(sends.length * unmeasured)).map(latency))
}

export function p99(latencies: readonly number[]): number {
  return percentile(latencies, 0.99)
}

function streamOf({ sender, perSecond, postOf }: Load, seconds: number): Stream {
  return {
    perSecond,
    count: Math.round(perSecond * (unmeasuredSeconds + seconds)),
    postOf: postOf ?? (() => ({ sender, contact: newContact() })),
  }
}

async function arrivalsOf(provider: Provider, accepted: readonly Accepted[]): Promise<Map<string, number>> {
  for (const deadline = nowMs() + patienceMs; ; await sleep(askEveryMs)) {
    const calls = await provider.calls()
    // The first of a send's calls counts, so entries are set from the last to the first.
    const arrivals = new Map(calls.reverse().map(({ requestId, arrivedAt }) => [requestId, arrivedAt]))
    if (nowMs() > deadline || accepted.every(({ requestId }) => arrivals.has(requestId))) return arrivals
  }
}
