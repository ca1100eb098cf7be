import { idempotencyKeptHours } from '../../../../db/admission/idempotency-keys.ts'
import { smallBytes } from '../../../../src/api/body/large/large-bodies.ts'
import { timeouts } from '../../../../src/api/http/client-timeouts.ts'
import { keepAliveTimeoutMs } from '../../../../src/api/http/listen.ts'
import { maxEmailLength, maxLocalLength } from '../../../../src/core/contacts/email.ts'
import { maxPhoneLength } from '../../../../src/core/contacts/phone.ts'
import { maxMediaBytes } from '../../../../src/core/messages/message-body.ts'
import { maxKeyLength } from '../../../../src/core/requests/idempotency-key.ts'
import { maxIssues } from '../../../../src/core/requests/issues.ts'
import { maxDepth, maxFields } from '../../../../src/core/requests/json-limits.ts'
import { maxPipelined } from '../../../../src/platform/http/one-by-one.ts'
import { figures, grouped, keyPoints, kibibytes, mebibytes, seconds, settings } from './quote.ts'

figures('reference/api', {
  'Order of checks': [grouped(settings.MAX_BODY_BYTES), mebibytes(settings.MAX_BODY_BYTES)],
  Body: [grouped(maxFields), `${maxDepth}`, `${maxIssues}`],
  Contact: [`${maxPhoneLength}`, `${maxEmailLength}`, `${maxLocalLength}`],
  Media: [grouped(maxMediaBytes), mebibytes(maxMediaBytes)],
  Keys: [`${settings.AUTH_FAILURE_LIMIT} requests`],
  'Rate limit': [
    ...[`${settings.RATE_LIMIT_POINTS} requests`, `${settings.RATE_LIMIT_WINDOW_SECONDS} s`],
    ...[grouped(keyPoints), `More than ${keyPoints}`],
  ],
  Idempotency: [`1 to ${maxKeyLength}`, `${idempotencyKeptHours} hours`],
  Connections: [
    seconds(timeouts.headersMs),
    kibibytes(timeouts.bodyBytesPerSecond),
    seconds(timeouts.bodyGraceMs),
    kibibytes(smallBytes),
    seconds(timeouts.queuedMs),
    seconds(timeouts.idleMs),
    seconds(timeouts.lingerMs),
    seconds(keepAliveTimeoutMs),
    `${maxPipelined}`,
  ],
})
