import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export type ProcessKind = 'api' | 'worker' | 'admin'

export type Metrics = ReturnType<typeof createMetrics>

/**
 * What a process counts and measures, for Prometheus (docs/reference/metrics.md). Labels come from short, fixed lists:
 * never an id, a contact, content or anybody's words.
 *
 * @param kind the process shows its own metrics only. What code that it shares with others counts of theirs goes nowhere.
 */
export function createMetrics(kind: ProcessKind) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const shownBy = (...kinds: ProcessKind[]) => definitions(kinds.includes(kind) ? [registry] : [])
  const metrics = {
    registry,
    ...storeMetrics(shownBy('api', 'worker', 'admin')),
    ...roundTripMetrics(shownBy('api', 'worker')),
    ...apiMetrics(shownBy('api')),
    ...deliveryMetrics(shownBy('worker')),
    ...workerMetrics(shownBy('worker')),
    ...backlogMetrics(shownBy('admin')),
  }
  startAtZero(metrics)
  return metrics
}

function definitions(registers: Registry[]) {
  return {
    counter: <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge({ name, help, labelNames, registers }),
    histogram: <Label extends string = never>(
      name: string,
      help: string,
      buckets: number[],
      ...labelNames: Label[]
    ) => new Histogram({ name, help, buckets, labelNames, registers }),
  }
}

type Definitions = ReturnType<typeof definitions>

/** Set when they are asked for (src/platform/scrape.ts), but for the breaker. */
function storeMetrics({ gauge, counter }: Definitions) {
  return {
    connections: gauge('outbound_database_connections', 'Connections of the pool to PostgreSQL.', 'state'),
    mostConnections: gauge('outbound_database_connections_max', 'How many connections the pool may have.'),
    waitingForConnection: gauge(
      'outbound_database_waiting_statements',
      'Statements that wait for a connection of the pool.',
    ),
    redisConnected: gauge('outbound_redis_connected', '1 while the connection to Redis is up.'),
    redisConnectionsReplaced: counter(
      'outbound_redis_connections_replaced_total',
      'Connections to Redis that were up, but on which it no longer answered.',
    ),
    redisBreakerOpen: gauge(
      'outbound_redis_breaker_open',
      '1 while the process spares itself asking Redis, which failed, but for a try a second.',
    ),
    faults: counter('outbound_faults_total', 'Faults that the log tells of.', 'level'),
  }
}

/** From a socket of the same machine to the time-out of a reading; finer around what docs/explanation/performance.md allows. */
const roundTripSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1]

function roundTripMetrics({ histogram }: Definitions) {
  return {
    databaseRoundTrip: histogram(
      'outbound_database_round_trip_seconds',
      'A query that only reads the clock, on an open connection to PostgreSQL; asked every 5 s.',
      roundTripSeconds,
    ),
  }
}

/** From what a lone accept takes to where clients give up. */
const answerSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2.5, 5, 10]
const batchSends = [1, 2, 5, 10, 20, 50, 100, 200]

function apiMetrics({ counter, histogram }: Definitions) {
  return {
    requests: counter('outbound_requests_total', 'Requests answered.', 'route', 'status'),
    acceptDuration: histogram(
      'outbound_accept_duration_seconds',
      'From a request to its 202.',
      answerSeconds,
      'route',
    ),
    accepted: counter(
      'outbound_sends_accepted_total',
      'Sends recorded; the repeat of a request by its Idempotency-Key is none.',
      'message_type',
    ),
    acceptedMediaBytes: counter('outbound_accepted_media_bytes_total', 'Media that came as base64, decoded.'),
    idempotentReplays: counter(
      'outbound_idempotent_replays_total',
      'Requests answered as an earlier one, by their Idempotency-Key.',
    ),
    authFailures: counter('outbound_auth_failures_total', 'Requests without a valid API key.'),
    rateLimited: counter(
      'outbound_rate_limited_total',
      'Requests beyond the limit of their account, or with faulty keys beyond that of their address.',
      'limit',
    ),
    enqueueFailures: counter(
      'outbound_enqueue_failures_total',
      'Sends accepted without a wake-up, which a worker adds later.',
    ),
    acceptBatch: histogram('outbound_accept_batch_sends', 'Sends recorded by one statement.', batchSends),
  }
}

/** From an instant provider to the longest time-out. */
const callSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25]
/** To the end of the usual retries. */
const deliverySeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 14_400]

function deliveryMetrics({ counter, histogram }: Definitions) {
  return {
    dispatches: counter(
      'outbound_dispatches_total',
      'Attempts that ended, by what came of them.',
      'provider',
      'outcome',
    ),
    dispatchDuration: histogram(
      'outbound_dispatch_duration_seconds',
      'One attempt to call a provider, without the wait for its turn.',
      callSeconds,
      'provider',
    ),
    acceptToSent: histogram(
      'outbound_accept_to_sent_seconds',
      'From the accept of a send to its sent, with all waits and retries; replayed sends are left out.',
      deliverySeconds,
      'provider',
    ),
    retries: counter('outbound_retries_total', 'Attempts after which another one is due.'),
    ended: counter(
      'outbound_sends_ended_total',
      'Sends that ended. One that ends again, after a replay or by a late outcome, counts again.',
      'status',
    ),
    lostClaims: counter('outbound_lost_claims_total', 'Attempts whose worker was lost.'),
  }
}

function workerMetrics({ counter, gauge, histogram }: Definitions) {
  return {
    inFlight: gauge('outbound_sends_in_flight', 'Sends that the worker is at work on.'),
    slots: gauge('outbound_worker_slots', 'Sends that the worker may be at work on at a time.'),
    wakeUpsStalled: gauge(
      'outbound_wake_ups_stalled_seconds',
      'How long sends have been due while the worker, at work on none, got no wake-up.',
    ),
    breakerOpenings: counter(
      'outbound_breaker_openings_total',
      'Circuit breakers of channels that the worker opened, also again after a trial.',
    ),
    reconciled: counter('outbound_reconciled_sends_total', 'Due sends that had no wake-up, and got one.'),
    claimBatch: histogram('outbound_claim_batch_sends', 'Sends asked for by one claim.', batchSends),
    outcomeBatch: histogram(
      'outbound_outcome_batch_sends',
      'Outcomes recorded by one statement.',
      batchSends,
    ),
  }
}

/** What the stores tell of the whole service: the same whoever asks, so only one process does. */
function backlogMetrics({ gauge }: Definitions) {
  return {
    queueJobs: gauge('outbound_queue_jobs', 'Wake-ups in a queue.', 'queue', 'state'),
    unfinished: gauge('outbound_unfinished_sends', 'Sends that have not ended.', 'state'),
    oldestWaiting: gauge(
      'outbound_oldest_waiting_send_age_seconds',
      'How long ago the oldest of the due sends fell due that wait for no earlier one to their contact.',
      'channels',
    ),
    heldChannels: gauge(
      'outbound_held_channels',
      'Channels whose sends wait until they are resumed.',
      'provider',
    ),
    breakers: gauge(
      'outbound_breakers',
      'Channels whose circuit breaker is open, or half open: their next send is a trial.',
      'provider',
      'state',
    ),
    workers: gauge('outbound_workers', 'Workers that are alive, by their leases.'),
    collectorUp: gauge(
      'outbound_collector_up',
      '0 where it could not be read, and is left out.',
      'collector',
    ),
    collectorDuration: gauge(
      'outbound_collector_duration_seconds',
      'How long it took to read it the last time.',
      'collector',
    ),
  }
}

type Counted = Pick<
  ReturnType<typeof apiMetrics> & ReturnType<typeof deliveryMetrics>,
  'accepted' | 'rateLimited' | 'ended'
>

/** What has never happened yet is 0 from the start: else Prometheus would miss the first time that it does. */
function startAtZero({ accepted, rateLimited, ended }: Counted): void {
  for (const message_type of ['text', 'template', 'media']) accepted.inc({ message_type }, 0)
  for (const limit of ['account', 'address']) rateLimited.inc({ limit }, 0)
  for (const status of ['sent', 'failed', 'uncertain']) ended.inc({ status }, 0)
}
