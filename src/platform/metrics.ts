import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { reportedShares } from '../core/accounts/ceiling.ts'
import { messageTypes } from '../core/messages/message.ts'
import { suppressionCauses } from '../core/suppression/suppression.ts'
import { build } from './process/build.ts'

export type ProcessKind = 'api' | 'worker' | 'admin'

/** How often Node.js measures the delay of the event loop. Its default of 10 ms would wake an idle process 100 times a second. */
const eventLoopLookEveryMs = 50

export type Metrics = ReturnType<typeof createMetrics>

/**
 * The metrics of a process, for Prometheus (docs/reference/metrics.md). Label values come from short, fixed lists: never an
 * id, a contact, content or other text from outside. The names of channels in trouble are the exception: few, and masked.
 *
 * @param kind a process exports only the metrics of its own kind; the others exist, for shared code, but aren't exported.
 */
export function createMetrics(kind: ProcessKind) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopLookEveryMs })
  const shownBy = (...kinds: ProcessKind[]) => definitions(kinds.includes(kind) ? [registry] : [])
  const metrics = {
    registry,
    /** Called at each scrape, by those who know a gauge's value without counting along. */
    beforeScrape: [] as (() => void)[],
    ...processMetrics(shownBy('api', 'worker', 'admin')),
    ...roundTripMetrics(shownBy('api', 'worker')),
    ...apiMetrics(shownBy('api')),
    ...endMetrics(shownBy('api', 'worker')),
    ...receiptMetrics(shownBy('api', 'worker')),
    ...deliveryMetrics(shownBy('worker')),
    ...workerMetrics(shownBy('worker')),
    ...callbackMetrics(shownBy('worker')),
    ...backlogMetrics(shownBy('admin')),
  }
  startAtZero(metrics)
  metrics.buildInfo.set({ ...build }, 1)
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

/** Set at each scrape (src/platform/health/scrape.ts, show-health.ts), except the build, the breaker's and the count of replaced connections. */
function processMetrics({ gauge, counter }: Definitions) {
  return {
    buildInfo: gauge('outbound_build_info', '1, with the build that runs.', 'version', 'commit', 'node'),
    connections: gauge('outbound_database_connections', 'Connections of the pool to PostgreSQL.', 'state'),
    maxConnections: gauge('outbound_database_connections_max', 'How many connections the pool may have.'),
    waitingForConnection: gauge(
      'outbound_database_waiting_statements',
      'Statements that wait for a connection of the pool.',
    ),
    ready: gauge('outbound_ready', '1 while the process can take work, as /readyz says.'),
    databaseUsable: gauge('outbound_database_usable', '1 while the process can use PostgreSQL.'),
    databaseFault: gauge('outbound_database_fault', '1 for the cause why it can not.', 'cause'),
    redisUsable: gauge(
      'outbound_redis_usable',
      "1 while the process can write to the shard's Redis.",
      'shard',
    ),
    redisFault: gauge('outbound_redis_fault', '1 for the cause why it can not.', 'shard', 'cause'),
    redisConnected: gauge(
      'outbound_redis_connected',
      "1 while the connection to the shard's Redis is up.",
      'shard',
    ),
    redisConnectionsReplaced: counter(
      'outbound_redis_connections_replaced_total',
      'Connections to Redis that were up, but on which it no longer answered.',
      'shard',
    ),
    redisBreakerOpen: gauge(
      'outbound_redis_breaker_open',
      "1 while the process does not call the shard's Redis, which failed, except for one try a second.",
      'shard',
    ),
    redisEvicts: gauge(
      'outbound_redis_evicts',
      "1 if the shard's Redis may drop keys to free memory: its maxmemory-policy isn't noeviction.",
      'shard',
    ),
    faults: counter('outbound_faults_total', 'Faults logged, by level.', 'level'),
    logLinesDropped: counter(
      'outbound_log_lines_dropped_total',
      'Log lines that were dropped because stdout could not be written.',
    ),
  }
}

/** From a local socket to the query's time-out, with finer steps around the limits of docs/explanation/performance.md. */
const roundTripSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1]

function roundTripMetrics({ histogram }: Definitions) {
  return {
    databaseRoundTrip: histogram(
      'outbound_database_round_trip_seconds',
      'A query that only reads the clock, on an open connection to PostgreSQL; run every 5 s.',
      roundTripSeconds,
    ),
  }
}

/** From a single accept without load to a client's time-out. */
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
      'Sends recorded; an idempotent replay does not count.',
      'message_type',
    ),
    acceptedMediaBytes: counter('outbound_accepted_media_bytes_total', 'Media that came as base64, decoded.'),
    idempotentReplays: counter(
      'outbound_idempotent_replays_total',
      'Requests that got the response of an earlier request with the same Idempotency-Key.',
    ),
    refusedUnrecorded: counter(
      'outbound_refused_requests_unrecorded_total',
      'Requests answered 4xx that the page of refused requests leaves out: too many at a time, or PostgreSQL was away.',
    ),
    authFailures: counter('outbound_auth_failures_total', 'Requests without a valid API key.'),
    rateLimited: counter(
      'outbound_rate_limited_total',
      "Requests refused with 429: over the account's rate limit, the address's limit of failed keys, the key's limit, or a ceiling.",
      'limit',
    ),
    enqueueFailures: counter(
      'outbound_enqueue_failures_total',
      'Sends accepted without a wake-up; a worker adds it later.',
    ),
    acceptBatch: histogram('outbound_accept_batch_sends', 'Sends recorded by one statement.', batchSends),
  }
}

function endMetrics({ counter }: Definitions) {
  return {
    ended: counter(
      'outbound_sends_ended_total',
      'Sends that ended. One that ends again, after a replay, by a late outcome or by a receipt, counts again.',
      'status',
    ),
    fallbacks: counter(
      'outbound_fallbacks_total',
      'Sends that ended on a channel with a fallback, by the providers of both channels and by what became of them.',
      'from',
      'to',
      'result',
    ),
  }
}

/** From a provider's clock that is a little ahead to a phone that was off for some days. */
const receiptSeconds = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400]

function receiptMetrics({ counter, histogram }: Definitions) {
  return {
    receipts: counter(
      'outbound_receipts_total',
      'What providers reported about messages, by what became of it.',
      'provider',
      'result',
    ),
    receiptLag: histogram(
      'outbound_receipt_lag_seconds',
      "From the time of an applied receipt, by the provider's clock, to its record.",
      receiptSeconds,
      'provider',
    ),
    contactsRefused: counter(
      'outbound_contacts_refused_total',
      'Hard bounces, complaints and opt-outs, as providers reported them.',
      'provider',
      'cause',
    ),
    deliveries: counter(
      'outbound_deliveries_total',
      'Sends that were reported as delivered, read or undelivered.',
      'provider',
      'state',
    ),
  }
}

/** From an immediate answer to the longest time-out. */
const callSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25]
/** Up to the end of the default retries. */
const deliverySeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 14_400]

function deliveryMetrics({ counter, histogram }: Definitions) {
  return {
    dispatches: counter(
      'outbound_dispatches_total',
      'Attempts that ended, by outcome.',
      'provider',
      'outcome',
    ),
    dispatchDuration: histogram(
      'outbound_dispatch_duration_seconds',
      'One attempt to call a provider, without waiting for a permit.',
      callSeconds,
      'provider',
    ),
    acceptToSent: histogram(
      'outbound_accept_to_sent_seconds',
      'From accepting a send to its sent, with all waits and retries, but without sends that were replayed or fell back.',
      deliverySeconds,
      'provider',
      'priority',
    ),
    retries: counter('outbound_retries_total', 'Attempts after which another one was scheduled.'),
    lostClaims: counter('outbound_lost_claims_total', 'Attempts whose worker was lost.'),
    suppressed: counter(
      'outbound_suppressed_total',
      'Sends that failed because their contact is suppressed, by cause.',
      'cause',
    ),
  }
}

function workerMetrics({ counter, gauge, histogram }: Definitions) {
  return {
    inFlight: gauge('outbound_sends_in_flight', 'Sends that the worker is processing.'),
    slots: gauge('outbound_worker_slots', 'Sends that the worker may process at the same time.'),
    atWork: gauge(
      'outbound_sends_at_work',
      'Sends in flight that the worker claims or whose outcome it records, without those that wait for their provider.',
      'queue',
    ),
    overflowLimit: gauge(
      'outbound_overflow_work_limit',
      'Sends up to which the worker works on the overflow: it rises while nobody else sends, and falls with each send of others.',
    ),
    providerConnections: gauge(
      'outbound_provider_connections',
      'Open HTTP connections to providers.',
      'state',
    ),
    maxToOneOrigin: gauge(
      'outbound_provider_connections_one_origin',
      'Open HTTP connections to the origin that has the most of them.',
    ),
    mediaMemory: gauge('outbound_media_memory_bytes', 'Content of media reserved for sends in flight.'),
    wakeUpsStalled: gauge(
      'outbound_wake_ups_stalled_seconds',
      'How long sends have been due while the worker was idle and got no wake-up.',
    ),
    breakerOpenings: counter(
      'outbound_breaker_openings_total',
      "Times that the worker opened a channel's circuit breaker, also again after a probe.",
    ),
    reconciled: counter('outbound_reconciled_sends_total', 'Due sends that had no wake-up and got one.'),
    claimBatch: histogram('outbound_claim_batch_sends', 'Sends of one claim statement.', batchSends),
    outcomeBatch: histogram(
      'outbound_outcome_batch_sends',
      'Outcomes recorded by one statement.',
      batchSends,
    ),
  }
}

/** From a receiver beside it to the last try. */
const callbackSeconds = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300, 1800, 7200, 36_000, 172_800,
]

function callbackMetrics({ counter, gauge, histogram }: Definitions) {
  return {
    callbacks: counter('outbound_callbacks_total', 'Calls to endpoints that ended, by result.', 'result'),
    callbackLag: histogram(
      'outbound_callback_lag_seconds',
      'From a change of a send to its callback with a 2xx; not of one sent again.',
      callbackSeconds,
    ),
    ceilingReports: counter(
      'outbound_ceiling_reports_total',
      'Ceilings of which a share was used, each once a period.',
      'percent',
    ),
    callbacksInFlight: gauge('outbound_callbacks_in_flight', 'Calls to endpoints that have not ended.'),
    endpointsDisabled: counter(
      'outbound_endpoints_disabled_total',
      'Endpoints that the worker disabled, because they answered 410 or failed for days.',
    ),
    reconciledEndpoints: counter(
      'outbound_reconciled_endpoints_total',
      'Endpoints with due callbacks that had no wake-up and got one.',
    ),
  }
}

/** Read from PostgreSQL and Redis about the whole service. The values are the same everywhere, so only the admin process has them. */
function backlogMetrics({ gauge }: Definitions) {
  return {
    queueJobs: gauge('outbound_queue_jobs', 'Wake-ups in a queue.', 'queue', 'state', 'shard'),
    unfinished: gauge('outbound_unfinished_sends', 'Sends that have not ended.', 'state', 'priority'),
    oldestWaiting: gauge(
      'outbound_oldest_waiting_send_age_seconds',
      'How long the oldest due send has been due, of those that wait for no earlier send to their contact.',
      'channels',
    ),
    heldChannels: gauge(
      'outbound_held_channels',
      'Channels whose sends wait until they are resumed.',
      'provider',
    ),
    breakers: gauge(
      'outbound_breakers',
      'Channels whose circuit breaker is open or half open, which means that their next send is a probe.',
      'provider',
      'state',
    ),
    withoutReceipts: gauge(
      'outbound_channels_without_receipts',
      'Channels that have sent messages, and got no receipt for an hour, although their provider should report each message.',
      'provider',
    ),
    oftenRefused: gauge(
      'outbound_channels_often_refused',
      'Channels of whose sends of a day more than 5 % bounced for good, or more than 0.1 % were complained about.',
      'provider',
      'cause',
    ),
    inTrouble: gauge(
      'outbound_channels_in_trouble',
      'Names of channels that somebody has to look at, for each provider and trouble at most 10.',
      'provider',
      'trouble',
      'channel',
    ),
    callbacksWaiting: gauge(
      'outbound_callbacks_waiting',
      'Callbacks that no endpoint has taken yet.',
      'state',
    ),
    oldestCallback: gauge(
      'outbound_oldest_due_callback_age_seconds',
      'How long the oldest due callback has been due, of endpoints that answer.',
    ),
    endpoints: gauge('outbound_endpoints', 'Endpoints that are disabled, or fail.', 'state'),
    workers: gauge('outbound_workers', 'Workers with a current lease.'),
    collectorUp: gauge(
      'outbound_collector_up',
      '0 if the collector failed; its metrics are missing then.',
      'collector',
      'shard',
    ),
    collectorDuration: gauge(
      'outbound_collector_duration_seconds',
      'How long the last run of the collector took.',
      'collector',
      'shard',
    ),
  }
}

type Counted = Pick<
  ReturnType<typeof apiMetrics> &
    ReturnType<typeof endMetrics> &
    ReturnType<typeof deliveryMetrics> &
    ReturnType<typeof callbackMetrics>,
  'accepted' | 'rateLimited' | 'ended' | 'suppressed' | 'callbacks' | 'ceilingReports'
>

/** Sets counters to 0 at the start. Otherwise Prometheus would miss the first increment. */
function startAtZero({ accepted, rateLimited, ended, suppressed, callbacks, ceilingReports }: Counted): void {
  for (const cause of suppressionCauses) suppressed.inc({ cause }, 0)
  for (const message_type of messageTypes) accepted.inc({ message_type }, 0)
  for (const limit of ['account', 'address', 'key', 'ceiling']) rateLimited.inc({ limit }, 0)
  for (const status of ['sent', 'failed', 'uncertain', 'canceled']) ended.inc({ status }, 0)
  for (const result of ['delivered', 'failed', 'given_up', 'gone']) callbacks.inc({ result }, 0)
  for (const percent of reportedShares) ceilingReports.inc({ percent }, 0)
}
