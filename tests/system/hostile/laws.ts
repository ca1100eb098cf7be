import { STATUS_CODES } from 'node:http'
import { expect } from 'vitest'
import { receiptBody } from '../../../src/core/receipts/receipt-body.ts'
import { requestIdForm } from '../../support/expect-error.ts'
import { validateAnswer } from '../../support/openapi.ts'
import type { RawAnswer } from './connections.ts'
import { bodySchemas, valueMark } from './good-bodies.ts'
import type { HostileRequest } from './requests.ts'

/** A request and its answer, parsed; without a body where the answer to HEAD has none. */
export interface Exchange {
  request: HostileRequest
  answer: RawAnswer
  json: Record<string, unknown> | undefined
}

/** The laws of every answer, whatever the request was. A law throws where it is broken. */
export const laws: Record<string, (exchange: Exchange) => void> = {
  statusOfTheTable,
  asDocumented,
  accepted,
  error,
  namesTheFault,
  repeatsNothing,
  isBounded,
}

/** The statuses of each route. A request that the parser of HTTP refuses is a 400 everywhere. */
const statuses: Record<HostileRequest['route'], number[]> = {
  channelInBody: [202, 400, 401, 403, 404, 429],
  channelInPath: [202, 400, 401, 403, 404, 429],
  read: [200, 400, 401, 403, 404],
  receipts: [200, 400, 403, 404],
  other: [200, 400, 401, 404, 405],
}

function statusOfTheTable({ request, answer }: Exchange) {
  const { route, method, headers, path } = request
  const isKeyed = headers.some(([name]) => name === 'Idempotency-Key')
  // A segment of one or two dots leads to another route.
  const isOtherRoute = /\/\.{1,2}(\/|$)/.test(path.replace(/\?.*$/s, ''))
  const isOtherMethod = isOtherRoute || method !== (route === 'read' ? 'GET' : 'POST')
  const more = [...(isKeyed ? [422] : []), ...(isOtherMethod ? [405] : []), ...(isList(request) ? [200] : [])]
  expect([...statuses[route], ...more]).toContain(answer.status)
}

/** Whether it lists sends, by the path that also takes them. */
const isList = ({ route, method }: HostileRequest) =>
  route === 'channelInBody' && (method === 'GET' || method === 'HEAD')

/** The OpenAPI document allows this status for the route, with this body and these headers. */
function asDocumented({ request, answer, json }: Exchange) {
  validateAnswer(request.method, request.path, answer.status, json, new Headers([...answer.headers]))
}

function accepted({ answer, json }: Exchange) {
  if (answer.status !== 202) return
  expect(json).toStrictEqual({ requestId: expect.stringMatching(requestIdForm) })
  expect(answer.headers.get('x-request-id')).toBe(json?.requestId)
}

function error({ request, answer, json }: Exchange) {
  const { status: statusCode, headers } = answer
  expect(headers.get('x-request-id')).toMatch(requestIdForm)
  if (statusCode < 400 || request.method === 'HEAD') return
  expect(json).toStrictEqual({
    statusCode,
    error: STATUS_CODES[statusCode],
    message: expect.any(String),
    requestId: headers.get('x-request-id'),
  })
  expect(headers.get('content-type')).toMatch(/^application\/json/)
  if (statusCode === 401) expect(headers.get('www-authenticate')).toBe('Bearer')
  if (statusCode === 405) expect(headers.get('allow')).toMatch(/^[A-Z]+(, [A-Z]+)*$/)
  if (statusCode === 429) expect(headers.get('retry-after')).toMatch(/^\d+$/)
}

const fields = Object.keys(bodySchemas.channelInBody.properties ?? {})
const headers = ['Content-Type', 'Content-Encoding', 'Idempotency-Key']
const fieldsOfReceipt = Object.keys(receiptBody.shape).join('|')
const knownPath = new RegExp(
  `^(body|(${fields.join('|')})[\\w.[\\]-]*|(\\[\\d+\\]\\.)?(${fieldsOfReceipt})|\\[\\d+\\]|${headers.join('|')}): .`,
)
const unknownField = /: unknown (field|parameter)(;|$)/

function namesTheFault({ answer, json }: Exchange) {
  if (answer.status !== 400 || !json) return
  const message = String(json.message)
  if (message === 'This is not a valid HTTP request.') return
  if (!unknownField.test(message)) expect(message).toMatch(knownPath)
}

/** A template's unknown variables are named, and their names are values. */
const unknownVariables = /the template has no variable .*?(?=; message\.|$)/gs

function repeatsNothing({ answer, json }: Exchange) {
  if (answer.status >= 400)
    expect(String(json?.message).replace(unknownVariables, '')).not.toContain(valueMark)
  expect([...answer.headers].join('\n')).not.toContain(valueMark)
  expect(answer.body.toString()).not.toMatch(/omk_\w{9}/)
}

const largestAnswerBytes = 4096
const largestListBytes = 65_536

function isBounded({ request, answer, json }: Exchange) {
  expect(answer.sizeBytes).toBeLessThan(isList(request) ? largestListBytes : largestAnswerBytes)
  // Half a surrogate pair is no Unicode, and many a client's JSON parser refuses it.
  if (json) expect(JSON.stringify(json)).not.toMatch(/\\ud[89a-f]/)
}
