/*
 * How long sends wait for their channel, or for means of the worker (docs/explanation/delivery.md). No test waits for these times.
 * Times that tests shorten are in workers/worker-times.ts.
 */

/** A send is woken this long before the call of its permit, so that it is prepared in time. */
export const headStartMs = 100
/** How far ahead the permits of a rate are granted, so that their sends reach the worker in time. An urgent send waits for so long behind them. */
export const grantAheadSeconds = 0.8
/** Delay of the first call after a pause, so that its send can reach the worker. */
export const startSeconds = 0.05
/**
 * How long after its end an unused permit is kept, as evidence that wake-ups don't reach the workers. Shorter than the time after
 * which a worker counts as stalled, so that a single lost wake-up makes no worker unready.
 */
export const unusedKeptSeconds = 15
/** After a channel had no free permits, requests within this time are answered together, at its end. */
export const noPermitsForMs = 100

/** A channel whose overflow got no answer for this long is in slow start. */
export const slowStartAfterSeconds = 10
/** A worker records answers this often, so that most cost nothing. Shorter than the time after which a slow start begins. */
export const answersNotedEveryMs = 3000

/** Failures further apart than this don't count as "in a row". */
export const longestFailureGapMs = 60_000
/** How long a circuit breaker is open at first; then for twice as long each time, at most for the longest. */
export const breakerFirstSeconds = 10
export const breakerLongestSeconds = 300
/** How long a circuit breaker waits for the result of a probe after the time limit of its call. */
export const probeMarginSeconds = 15
/** Sends aren't failed for a provider that stays away before they have waited for this long, however short their retries are. */
export const leastWaitSeconds = 600

/** How long a send waits in its slot until it may fetch media, before it goes back to the queue. */
export const waitInSlotMs = 200
/** How long a send waits in its slot for memory for its media, before it goes back to the queue. */
export const longestWaitForMemoryMs = 5000
/** How long media is kept that arrived too late for the call of its attempt. */
export const lateMediaKeptMs = 600_000
/** How long a send is put off for which this worker has no means now: at first; then for twice as long each time. */
export const firstPutOffMs = 1000
export const longestPutOffMs = 60_000
/** Leaves time for a worker with the right settings to claim the send, or for an operator to correct them. */
export const otherWorkerDelayMs = 30_000
