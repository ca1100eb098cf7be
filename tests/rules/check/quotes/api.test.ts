import { idempotencyKeptHours } from '../../../../db/admission/idempotency-keys.ts'
import { smallBytes } from '../../../../src/api/body/large/large-bodies.ts'
import { timeouts } from '../../../../src/api/client-timeouts.ts'
import { keepAliveTimeoutMs } from '../../../../src/api/listen.ts'
import { maxEmailLength, maxLocalLength } from '../../../../src/core/email.ts'
import { maxKeyLength } from '../../../../src/core/idempotency-key.ts'
import { maxIssues } from '../../../../src/core/issues.ts'
import { maxDepth, maxFields } from '../../../../src/core/json-limits.ts'
import { maxMediaBytes } from '../../../../src/core/message-body.ts'
import { maxPhoneLength } from '../../../../src/core/phone.ts'
import { providerRules } from '../../../../src/core/providers/index.ts'
import { maxPipelined } from '../../../../src/platform/one-by-one.ts'
import { figures, grouped, keyPoints, kibibytes, mebibytes, seconds, settings } from './quote.ts'

figures('reference/api', {
  'Order of checks': [grouped(settings.MAX_BODY_BYTES), mebibytes(settings.MAX_BODY_BYTES)],
  Body: [grouped(maxFields), `${maxDepth}`, `${maxIssues}`, `${providerRules.twilio.maxTextCharacters}`],
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
