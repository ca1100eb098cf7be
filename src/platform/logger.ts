import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'

export type { Logger }

/** One JSON object a line. What happens to a send goes through `logEvent`, so that every such line is found by requestId. */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime, formatters: { level: levelName } }
  return destination ? pino(options, destination) : pino(options)
}

/** A line of a send's timeline. Fields must hold no key, credential, content or whole contact value. */
export function logEvent(log: Logger, requestId: string, event: string, fields: object = {}): void {
  log.info({ requestId, event, ...fields })
}

function levelName(level: string) {
  return { level }
}
