import { expect } from 'vitest'
import { messageTypes } from '../../../src/core/messages/message.ts'
import { providerNames } from '../../../src/providers/index.ts'
import { bodySchemas, type Endpoint } from './good-bodies.ts'
import type { Exchange } from './laws.ts'
import { bodyOf } from './recorded.ts'
import { pathsOf } from './schema-values.ts'

/** The cases that one or several rounds have reached. */
export interface Coverage {
  statuses: Map<number, number>
  faults: Set<RegExp>
  /** Providers, message types and the paths of fields of sends that were accepted, by route. */
  accepted: Set<string>
  /** Methods, providers and statuses of requests with receipts. */
  receipts: Set<string>
}

export function newCoverage(): Coverage {
  return { statuses: new Map(), faults: new Set(), accepted: new Set(), receipts: new Set() }
}

export function cover(
  { statuses, faults, accepted, receipts }: Coverage,
  { request, answer, json }: Exchange,
) {
  const { route, method, target } = request
  if (route === 'receipts') {
    receipts.add(`${method} ${target.provider} ${answer.status}`)
    return
  }
  statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
  if (answer.status === 400)
    for (const fault of faultsToReach) if (fault.test(String(json?.message))) faults.add(fault)
  if (answer.status !== 202) return
  const body = bodyOf(request)
  const reached = [request.target.provider, body.message.type, ...fieldsIn(body)]
  for (const what of reached) accepted.add(`${request.route} ${what}`)
}

const leastAcceptedShare = 0.15
const statusesToReach = [200, 202, 400, 401, 403, 404, 405, 422, 429]

/** Answers to requests with receipts. */
const answersToReach = [
  ...['webhook', 'whatsapp-cloud', 'twilio', 'smtp'].flatMap((provider) =>
    [200, 400, 403, 404, 405].map((status) => `${status === 405 ? 'PUT' : 'POST'} ${provider} ${status}`),
  ),
  ...[200, 403].map((status) => `GET whatsapp-cloud ${status}`),
  'GET webhook 405',
]

/** Every fault that a body or its headers can have, by its message. */
const faultsToReach = [
  /: required/,
  /: has to be a string/,
  /: has to be an? object/,
  /: has to be an array/,
  /: has to be a boolean/,
  /: has to be one of phone, email/,
  /: has to be one of text, template, media/,
  /: has to be one of image, video, document, audio/,
  /: unknown field/,
  /: at most 100 items/,
  /: given twice/,
  /: is empty/,
  /: at most 4096 characters/,
  /: contains NUL or half a surrogate pair/,
  /: contains a control character/,
  /and \d+ more faults/,
  /contact\.value: has to be a phone number/,
  /contact\.value: has to be an e-mail address/,
  /contact\.name: at most 256 characters/,
  /template\.name: at most 512 characters/,
  /key: at most 64 characters/,
  /caption: at most 1024 characters/,
  /mimetype: at most 255 characters/,
  /mimetype: has to be of the form/,
  /mimetype: is \S+.*, but the content is recognised as/,
  /filename: has to be a name without a path/,
  /media: send base64 or mediaUrl/,
  /base64: not base64 \(standard/,
  /base64: not base64 \(cut off/,
  /base64: a data: URL has to be/,
  /base64: is empty/,
  /base64: is not recognised as an image/,
  /base64: is [a-z-]+\/[\w.-]+, which can't be sent as/,
  /mediaUrl: at most 2048 characters/,
  /mediaUrl: has to be a URL that starts with/,
  /mediaUrl: has to be a URL(;|$)/,
  /mediaUrl: must not contain a user name/,
  /mediaUrl: contains an address that is not public/,
  /: incompatible with message\.type/,
  /flowId: differs from message\.flowId/,
  /closeConversation: differs from message\.closeConversation/,
  /flowId: no such flow/,
  /sendAt: has to be a time with its offset/,
  /sendAt: more than 60 s ago/,
  /sendAt: more than 30 days ahead/,
  /reference: at most 256 characters/,
  /contact\.type: this channel reaches/,
  /characters on this channel/,
  /template\.name: is not registered/,
  /variables: name is missing/,
  /the template has no variable/,
  /mimetype: required for this content/,
  /caption: not with audio/,
  /^body: is empty/,
  /^body: not valid UTF-8/,
  /^body: not valid JSON/,
  /^body: has to be an object/,
  /^body: more than \d+ bytes/,
  /^body: more than 10000 fields and items/,
  /^body: nested deeper than 32/,
  /^Content-Type: /,
  /^Content-Encoding: /,
  /^Idempotency-Key: send it once/,
  /^Idempotency-Key: has to be/,
  /^This is not a valid HTTP request/,
]

/** A run that sent nothing but garbage, or nothing but good sends, would prove little. */
export function expectCovered({ statuses, faults, accepted, receipts }: Coverage) {
  const total = [...statuses.values()].reduce((sum, count) => sum + count, 0)
  expect((statuses.get(202) ?? 0) / total).toBeGreaterThan(leastAcceptedShare)
  expect([...statuses.keys()]).toEqual(expect.arrayContaining(statusesToReach))
  expect(faultsToReach.filter((fault) => !faults.has(fault))).toEqual([])
  expect([...receipts]).toEqual(expect.arrayContaining(answersToReach))
  const endpoints: Endpoint[] = ['channelInBody', 'channelInPath']
  for (const endpoint of endpoints) {
    const wanted = [...providerNames, ...messageTypes, ...pathsOf(bodySchemas[endpoint])]
    expect(wanted.filter((what) => !accepted.has(`${endpoint} ${what}`))).toEqual([])
  }
}

function fieldsIn(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsIn(item, `${path}[]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    if (inner === null) return []
    const fieldPath = path === '' ? name : `${path}.${name}`
    return [fieldPath, ...fieldsIn(inner, fieldPath)]
  })
}
