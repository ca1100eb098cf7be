import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import type { MessageType } from '../core/message.ts'
import type { EventFields } from '../core/timeline-events.ts'
import { safeError } from './safe-error.ts'
import { traceFields } from './tracing.ts'

export type { Logger }

/** One JSON object a line. What happens to a send goes through `logEvent`, so that every such line is found by requestId. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: levelName },
    mixin: traceFields,
  }
  return pino(options, destination ?? standardOutput())
}

/** Lines of one turn of the event loop are written together, at its end: each write costs far more than its line. */
function standardOutput(): DestinationStream {
  // Synchronously: otherwise it would try for ever to write its rest when a process ends whose stdout is gone.
  const output = pino.destination({ dest: 1, sync: true })
  let lines = ''
  const write = () => {
    const text = lines
    lines = ''
    if (text !== '') output.write(text)
  }
  process.on('exit', write)
  return {
    write(line) {
      if (lines === '') setImmediate(write)
      lines += line
    },
  }
}

/** What is logged otherwise than it is told in a timeline, and what is logged of requests that add nothing to one. */
interface OwnFields {
  accepted: { accountId: string; channelId: string; contact: string; messageType: MessageType }
  attempt_started: EventFields['attempt_started'] & { conversationId: string }
  retry_scheduled: { reason: string | undefined; nextAttemptAt: Date | null | undefined }
  channel_held: { reason: string | undefined; channelId: string }
  replayed: { by?: string }
  rejected: { statusCode: number; reason?: string | undefined; accountId?: string | undefined }
  idempotent_replay: { accountId: string; repeatId: string }
}

/** Of each event: what its line holds besides `requestId` and `event`. */
type LoggedFields = Omit<EventFields, keyof OwnFields> & OwnFields

/** A line of a send's timeline. Fields must hold no key, credential, content or whole contact value. */
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

/** How many faults the log was told of. */
export function faultCounts(log: Logger): FaultCounts {
  const counts = faults.get(log) ?? { warn: 0, error: 0 }
  faults.set(log, counts)
  return counts
}

/** A fault that the service gets over by itself, such as a store that is away. */
export function logWarning(log: Logger, event: string, error: unknown, fields: object = {}): void {
  faultCounts(log).warn++
  log.warn({ ...fields, event, reason: safeError(error).message })
}

/** A fault that somebody has to look into. */
export function logFault(log: Logger, event: string, error: unknown, fields: object = {}): void {
  faultCounts(log).error++
  log.error({ ...fields, event, err: safeError(error) })
}

function levelName(level: string) {
  return { level }
}
