import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import type { MessageType } from '../../core/messages/message.ts'
import type { Priority } from '../../core/sends/priority.ts'
import type { EventFields } from '../../core/sends/timeline-events.ts'
import { standardOutput } from './log-output.ts'
import { safeError } from './safe-error.ts'
import { traceFields } from './tracing.ts'

export type { Logger }

/** A log of one JSON object per line. Log a send's events with `logEvent`, so that each line carries its requestId. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = { ...format, level, mixin: traceFields }
  return pino(options, destination ?? standardOutput(recoveryLine))
}

const format = {
  base: null,
  timestamp: stdTimeFunctions.isoTime,
  formatters: { level: levelName },
  // Keeps the result of `safeError`. pino's own serializer would replace the error's name by `Object`.
  serializers: { err: (safe: object) => safe },
}

/** Written whatever the log's level is: it explains a gap. */
function recoveryLine({ dropped, reason }: { dropped: number; reason: string }): string {
  let line = ''
  pino({ ...format, level: 'warn' }, { write: (text) => (line = text) }).warn({
    event: 'log_lines_dropped',
    dropped,
    reason,
  })
  return line
}

/** Fields of log lines that differ from the timeline's, and of events that are logged only. */
interface OwnFields {
  accepted: {
    accountId: string
    channelId: string
    contact: string
    messageType: MessageType
    /** Undefined for `normal`. */
    priority?: Priority | undefined
    reference?: string | undefined
  }
  tried: { by: string }
  canceled: { accountId: string } | { by: string }
  attempt_started: EventFields['attempt_started'] & { conversationId: string }
  retry_scheduled: { reason: string | undefined; nextAttemptAt: Date | null | undefined }
  postponed: { reason: string; nextAttemptAt: Date }
  channel_held: { reason: string | undefined; channelId: string }
  replayed: { by?: string }
  settled: EventFields['settled'] & { by: string }
  rejected: {
    statusCode: number
    code: string
    reason?: string | undefined
    accountId?: string | undefined
  }
  idempotent_replay: { accountId: string; repeatId: string }
}

/** The fields of each event's log line, except `requestId` and `event`. */
type LoggedFields = Omit<EventFields, keyof OwnFields> & OwnFields

/** Logs one event of a send. The fields must hold no key, credential, content or whole contact value. */
export function logEvent<Event extends keyof LoggedFields>(
  log: Logger,
  requestId: string,
  event: Event,
  fields: LoggedFields[Event],
): void {
  log.info({ requestId, event, ...fields })
}

interface FaultCounts {
  warn: number
  error: number
}

const faults = new WeakMap<Logger, FaultCounts>()

/** How many warnings and errors were logged with `logWarning` and `logFault`. */
export function faultCounts(log: Logger): FaultCounts {
  const counts = faults.get(log) ?? { warn: 0, error: 0 }
  faults.set(log, counts)
  return counts
}

/** A logger with these fields in each line. Its errors count as those of the logger. */
export function childLogger(log: Logger, fields: object): Logger {
  const child = log.child(fields)
  faults.set(child, faultCounts(log))
  return child
}

/** Logs an error that the service recovers from by itself, such as PostgreSQL being down. */
export function logWarning(log: Logger, event: string, error: unknown, fields: object = {}): void {
  faultCounts(log).warn++
  log.warn({ ...fields, event, reason: safeError(error).message })
}

const repeatAfterMs = 60_000
const loggedAt = new WeakMap<Logger, Map<string, number>>()

/** Logs a warning as `logWarning` does, but each event at most once a minute: for errors that recur several times a second. */
export function logWarningOnceAMinute(log: Logger, event: string, error: unknown): void {
  const times = loggedAt.get(log) ?? new Map<string, number>()
  loggedAt.set(log, times)
  const now = performance.now()
  if (now < (times.get(event) ?? -repeatAfterMs) + repeatAfterMs) return
  times.set(event, now)
  logWarning(log, event, error)
}

/** Logs an internal error, which an operator has to look into. */
export function logFault(log: Logger, event: string, error: unknown, fields: object = {}): void {
  faultCounts(log).error++
  log.error({ ...fields, event, err: safeError(error) })
}

function levelName(level: string) {
  return { level }
}
