import { isAscii } from 'node:buffer'
import { describeFaults, describeIssue } from '../../core/faults.ts'
import { limitJson, maxDepth, maxFields } from '../../core/json-limits.ts'
import type { Network } from '../../core/public-address.ts'
import { type SendRequest, sendRequestSchemas } from '../../core/send-request.ts'

/** The schemas of the two bodies of a send (docs/reference/api.md#send). */
export type BodySchemas = ReturnType<typeof sendRequestSchemas>
export type BodyForm = keyof BodySchemas

/** Why a body is refused. */
export interface BodyFault {
  /** The message for the client. */
  fault: string
  /** The reason for the log, if `fault` contains text of the client. */
  reason?: string
}

export type Parsed = { request: SendRequest } | BodyFault

export const notJson = { fault: 'body: not valid JSON' }
export const tooDeep = { fault: `body: nested deeper than ${maxDepth}` }
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text of a body. If it is nested too deep, its fields are checked first, because their faults are more specific. */
export function textOf(bytes: Buffer): { text: string; isTooDeep: boolean } | BodyFault {
  const limited = limitJson(bytes)
  if (!limited) return { fault: `body: more than ${maxFields} fields and items` }
  if (limited.json.length === 0) return { fault: 'body: is empty; send a JSON object' }
  const text = decode(limited.json)
  return text === undefined ? { fault: 'body: not valid UTF-8' } : { text, isTooDeep: limited.isTooDeep }
}

/** Parses with our messages. Synchronous, because zod compiles its parsers only for that. */
export const parseBody = (schema: BodySchemas[BodyForm], value: unknown) =>
  schema.safeParse(value, { error: describeIssue })

export function faultOf({ issues }: { issues: Parameters<typeof describeFaults>[0] }): Required<BodyFault> {
  return { fault: describeFaults(issues), reason: describeFaults(issues, 'unnamed') }
}

/** Creates the parser of bodies, which names every fault of their form and fields (docs/reference/api.md#body). */
export function bodyParser(allowedPrivateNetworks: readonly Network[]) {
  const schemas = sendRequestSchemas(allowedPrivateNetworks)
  return (bytes: Buffer, form: BodyForm): Parsed => {
    const body = textOf(bytes)
    if ('fault' in body) return body
    const json = parse(body.text)
    if (!json) return notJson
    const { success, data, error } = parseBody(schemas[form], json.value)
    if (!success) return faultOf(error)
    return body.isTooDeep ? tooDeep : { request: data }
  }
}

function decode(bytes: Buffer): string | undefined {
  // Ten times as fast, which matters for 20 MB of base64.
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
