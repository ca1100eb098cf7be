import { isAscii } from 'node:buffer'
import type { z } from 'zod'
import { describeIssue, describeIssues } from '../../core/requests/issues.ts'
import { limitJson, maxDepth, maxFields, maxFieldsOfBatch } from '../../core/requests/json-limits.ts'
import type { Network } from '../../core/requests/public-address.ts'
import { type SendRequest, sendRequestSchemas } from '../../core/sends/send-request.ts'

/** The schemas of the two bodies of a send (docs/reference/api.md#send). */
export type BodySchemas = ReturnType<typeof sendRequestSchemas>
export type BodyForm = keyof BodySchemas

/** Why a body is refused. */
export interface BodyIssue {
  /** The message for the client. */
  issue: string
  /** The reason for the log, if `issue` contains text of the client. */
  reason?: string
}

export type Parsed = { request: SendRequest } | { requests: SendRequest[] } | BodyIssue

export const notJson = { issue: 'body: not valid JSON' }
export const tooDeep = { issue: `body: nested deeper than ${maxDepth}` }
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** How many fields and items a body has at most. */
export const maxFieldsOf = (form: BodyForm) => (form === 'batch' ? maxFieldsOfBatch : maxFields)

/** The text of a body. If it is nested too deep, its fields are checked first, because their issues are more specific. */
export function textOf(bytes: Buffer, limit: number): { text: string; isTooDeep: boolean } | BodyIssue {
  const limited = limitJson(bytes, limit)
  if (!limited) return { issue: `body: more than ${limit} fields and items` }
  const text = decode(limited.json)
  if (text === undefined) return { issue: 'body: not valid UTF-8' }
  if (!/\S/.test(text)) return { issue: 'body: is empty; send a JSON object' }
  return { text, isTooDeep: limited.isTooDeep }
}

/** Parses with our messages. Synchronous, because zod compiles its parsers only for that. */
export const parseBody = (schema: BodySchemas[BodyForm], value: unknown) =>
  schema.safeParse(value, { error: describeIssue })

export function issueOf({ issues }: { issues: Parameters<typeof describeIssues>[0] }): Required<BodyIssue> {
  return { issue: describeIssues(issues), reason: describeIssues(issues, 'left out') }
}

/** Creates the parser of bodies, which names every issue of their form and fields (docs/reference/api.md#body). */
export function createParseBody(allowedPrivateNetworks: readonly Network[]) {
  const schemas = sendRequestSchemas(allowedPrivateNetworks)
  return (bytes: Buffer, form: BodyForm): Parsed => {
    const parsed = parseBytes<SendRequest | SendRequest[]>(bytes, schemas[form], maxFieldsOf(form))
    if ('issue' in parsed) return parsed
    const { data } = parsed
    return Array.isArray(data) ? { requests: data } : { request: data }
  }
}

/** Parses a body by a schema, and names every issue of its form and fields. */
export function parseBytes<Data>(
  bytes: Buffer,
  schema: z.ZodType<Data>,
  limit = maxFields,
): { data: Data } | BodyIssue {
  const body = textOf(bytes, limit)
  if ('issue' in body) return body
  const json = parse(body.text)
  if (!json) return notJson
  const { success, data, error } = schema.safeParse(json.value, { error: describeIssue })
  if (!success) return issueOf(error)
  return body.isTooDeep ? tooDeep : { data }
}

function decode(bytes: Buffer): string | undefined {
  // Much faster than UTF-8 for a large body, which is mostly base64.
  if (isAscii(bytes)) return bytes.toString('latin1')
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
