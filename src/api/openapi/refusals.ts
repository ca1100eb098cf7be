import type { Permission } from '../../core/accounts/api-key.ts'
import { describeIssue, describeIssues } from '../../core/requests/issues.ts'
import { smallBytes } from '../body/large/large-bodies.ts'
import { notJson } from '../body/parse-body.ts'
import { tooLarge } from '../body/receive.ts'
import { ApiError, asApiError, notHttp, unavailable, wrongMethod } from '../errors.ts'
import { forbidden, tooManyFaultyKeys, unauthorized } from '../keys/authenticate.ts'
import { limitOfKey, tooManyByKey } from '../keys/key-limit.ts'
import { jsonRefusals } from '../routes/body-refusals.ts'
import { exampleIds } from '../routes/examples.ts'
import {
  type Body,
  type QueryReader,
  type Refusal,
  type Refusals,
  type Route,
  schemaOf,
} from '../routes/route.ts'
import { methodsAt } from '../routes.ts'
import { keyUsedBefore, wrongKey } from '../send/find-earlier.ts'
import { tooManyRequests } from '../send/rate-limit.ts'
import { mapValues } from './json-schema.ts'

/** The refusals of a route: those that follow from its line in the table, and its own. */
export function refusalsOf(route: Route): Refusals {
  const { path, permissions, limit, query, body, isIdempotent, refusals } = route
  return {
    ...(permissions && ofKey(permissions)),
    ...(query?.readQuery && { faultyQuery: ofQuery(query.readQuery) }),
    ...(body?.faults && ofBody(body, limit === 'send')),
    ...refusals,
    ...(isIdempotent && { wrongKey: ofWrongKey, keyUsedBefore: usedBefore }),
    ...((limit === 'send' || limit === 'request') && { tooManyRequests: beyondLimit }),
    notHttp: { summary: 'The request is not valid HTTP', error: notHttp },
    wrongMethod: {
      summary: 'The path exists, but not with this method',
      error: () => wrongMethod(methodsAt(path)),
    },
    crashed: { summary: 'A fault of the service', error: () => asApiError(new Error()) },
  }
}

const resetSeconds = 42

const ofKey = (permissions: readonly Permission[]): Refusals => ({
  unauthorized: { summary: 'No valid API key', error: unauthorized },
  forbidden: { summary: 'The key lacks the permission', error: () => forbidden(...permissions) },
  tooManyFaultyKeys: {
    summary: 'Too many invalid keys from this address',
    error: () => tooManyFaultyKeys(resetSeconds),
  },
  tooManyByKey: {
    summary: 'Too many reads and refused requests with this key',
    error: ({ RATE_LIMIT_POINTS: points, RATE_LIMIT_WINDOW_SECONDS: seconds }) =>
      tooManyByKey(limitOfKey({ points, seconds }), { resetSeconds }),
  },
  unavailable: { summary: 'PostgreSQL does not answer in time', error: unavailable },
})

const ofWrongKey: Refusal = { summary: 'The Idempotency-Key is none', error: wrongKey }

const usedBefore: Refusal = {
  summary: 'The Idempotency-Key was used for another request',
  error: () => keyUsedBefore(exampleIds.firstRequestId),
}

const beyondLimit: Refusal = {
  summary: 'The rate limit of the account is exceeded',
  error: ({ RATE_LIMIT_POINTS: points, RATE_LIMIT_WINDOW_SECONDS: seconds }) =>
    tooManyRequests({ points, seconds }, { resetSeconds }),
}

/** A query that is refused by every route that reads one. */
export const faultyQuery = 'limit=1000&after=x&page=2&include=all'

const ofQuery = (readQuery: QueryReader): Refusal => ({
  summary: 'Parameters are unknown, repeated or unreadable',
  error() {
    const read = readQuery(new URLSearchParams(faultyQuery))
    if ('query' in read) throw new Error('The example of a faulty query has no issue')
    return new ApiError('invalid_query', read.issue)
  },
})

const ofBody = (body: Body, isSend: boolean): Refusals => ({
  ...mapValues(body.faults ?? {}, ({ summary, value }) => ({
    summary,
    error() {
      // Compiling the parser would take longer than this one parse.
      const { success, error } = schemaOf(body, []).safeParse(value, { error: describeIssue, jitless: true })
      if (success) throw new Error('The example of a faulty body has no issue')
      return new ApiError('invalid_body', describeIssues(error.issues))
    },
  })),
  ...jsonRefusals,
  notJson: { summary: 'The body is not JSON', error: () => new ApiError('invalid_body', notJson.issue) },
  tooLarge: {
    summary: 'The body is too large',
    error: ({ MAX_BODY_BYTES }) => tooLarge(isSend ? MAX_BODY_BYTES : smallBytes),
  },
})
