import { idempotencyKeptHours } from '../../../../db/admission/idempotency-keys.ts'
import { smallBytes } from '../../../../src/api/body/large/large-bodies.ts'
import { timeouts } from '../../../../src/api/client-timeouts.ts'
import { keepAliveTimeoutMs, maxPipelined } from '../../../../src/api/listen.ts'
import { maxEmailLength, maxLocalLength } from '../../../../src/core/email.ts'
import { maxKeyLength } from '../../../../src/core/idempotency-key.ts'
import { maxIssues } from '../../../../src/core/issues.ts'
import { maxDepth, maxFields } from '../../../../src/core/json-limits.ts'
import { maxMediaBytes } from '../../../../src/core/message-body.ts'
import { maxPhoneLength } from '../../../../src/core/phone.ts'
import { providerRules } from '../../../../src/core/providers/index.ts'
import { grouped, kibibytes, mebibytes, quotes, seconds, settings } from './quote.ts'

quotes('reference/api', [
  `at most ${grouped(settings.MAX_BODY_BYTES)} bytes (${mebibytes(settings.MAX_BODY_BYTES)})`,
  `at most ${grouped(maxFields)} fields and items, and nothing deeper than ${maxDepth} objects or lists`,
  `faulty field by its path, the first ${maxIssues} of them`,
  `${providerRules.twilio.maxTextCharacters} on a channel of \`twilio\``,
  `The value has at most ${maxPhoneLength} characters`,
  `at most ${maxEmailLength} characters, at most ${maxLocalLength} of them before the \`@\``,
  `at most ${grouped(maxMediaBytes)} bytes (${mebibytes(maxMediaBytes)}) when decoded`,
  `may send ${settings.RATE_LIMIT_POINTS} requests in ${settings.RATE_LIMIT_WINDOW_SECONDS} s`,
  `sends more than ${settings.AUTH_FAILURE_LIMIT} requests with faulty keys in 60 s`,
  `A key is 1 to ${maxKeyLength} characters`,
  `A key is kept for ${idempotencyKeptHours} hours from the accept`,
  `| the headers of a request | ${seconds(timeouts.headersMs)} from the start`,
  `| the body | an average of ${kibibytes(timeouts.bodyBytesPerSecond)} a second once it has taken ${seconds(timeouts.bodyGraceMs)} |`,
  `| a body of more than ${kibibytes(smallBytes)} | it waits for memory while many such are under way: for ${seconds(timeouts.queuedMs)} at most,`,
  `| silence while a request or its answer is under way | ${seconds(timeouts.idleMs)} |`,
  `and ${seconds(timeouts.lingerMs)} later the connection is closed`,
  `| an idle connection | ${seconds(keepAliveTimeoutMs)} |`,
  `More than ${maxPipelined} requests sent ahead of their answers end the connection after the ${maxPipelined}th answer`,
])
