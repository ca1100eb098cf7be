import { expect, test } from 'vitest'
import { errorCodeNames, errorCodes } from '../../../src/api/errors/codes.ts'
import { refusalsOf } from '../../../src/api/openapi/refusals.ts'
import type { Route } from '../../../src/api/routes/route.ts'
import { routes } from '../../../src/api/routes.ts'
import { documentSettings } from '../../support/openapi.ts'

const refused = Object.values<Route>(routes).flatMap((route) =>
  Object.values(refusalsOf(route)).map(({ error }) => error(documentSettings)),
)

test('each code of an error is met on a documented route, but for those of no route', () => {
  const met = new Set(refused.map(({ code }) => code))
  expect(errorCodeNames.filter((code) => !met.has(code))).toEqual([])
})

test.each(errorCodeNames)('%s is in snake case, and says why and what to do in sentences', (code) => {
  expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
  const { status, why, fix } = errorCodes[code]
  expect(status).toBeGreaterThanOrEqual(400)
  for (const sentence of [why, fix]) expect(sentence).toMatch(/^[A-Z`].*\.$/)
})

test('released codes and their statuses stay', () => {
  const released = Object.fromEntries(errorCodeNames.map((code) => [code, errorCodes[code].status]))
  expect(released).toMatchInlineSnapshot(`
    {
      "batch_too_large": 400,
      "body_incomplete": 400,
      "body_too_large": 400,
      "ceiling_reached": 429,
      "channel_not_found": 404,
      "endpoint_disabled": 400,
      "endpoint_not_called": 503,
      "endpoint_not_found": 404,
      "flow_not_found": 400,
      "idempotency_key_reused": 422,
      "internal_error": 500,
      "invalid_api_key": 401,
      "invalid_body": 400,
      "invalid_http": 400,
      "invalid_idempotency_key": 400,
      "invalid_media": 400,
      "invalid_query": 400,
      "invalid_receipt": 400,
      "invalid_signature": 403,
      "invalid_template": 400,
      "key_rate_limited": 429,
      "media_not_found": 404,
      "message_not_found": 404,
      "method_not_allowed": 405,
      "missing_permission": 403,
      "not_cancelable": 409,
      "not_movable": 409,
      "not_ready": 503,
      "rate_limited": 429,
      "route_not_found": 404,
      "suppression_not_found": 404,
      "too_many_endpoints": 400,
      "too_many_failures": 429,
      "unavailable": 503,
      "unsubscribe_link_not_found": 404,
      "unsupported_by_channel": 400,
      "unsupported_content_type": 400,
    }
  `)
})
