import { parseNetwork } from '../../../core/requests/public-address.ts'
import { serve } from '../../../platform/memory/thread.ts'
import { type BodyForm, createParseBody, type Parsed } from '../parse-body.ts'
import { createJoin } from '../pieces.ts'
import { parseLarge } from './parse-large-body.ts'

export interface ParserOptions {
  /** As CIDR. */
  allowedPrivateNetworks: string[]
}

export interface ParserInput {
  pieces: readonly Uint8Array[]
  form: BodyForm
}

/** The thread that parses large bodies. */
serve<ParserOptions, ParserInput, Parsed>(({ allowedPrivateNetworks }) => {
  const parse = createParseBody(allowedPrivateNetworks.map(parseNetwork))
  const join = createJoin()
  return ({ pieces, form }) => {
    const output = parseLarge(parse, join(pieces), form)
    // Small content may be in Node.js's shared buffer pool, so it is copied instead of moved.
    const transfer = contentsOf(output)
      .filter(({ length }) => length > Buffer.poolSize)
      .map(({ buffer }) => buffer as ArrayBuffer)
    return { output, transfer }
  }
})

function contentsOf(output: Parsed): Buffer[] {
  const requests = 'requests' in output ? output.requests : 'request' in output ? [output.request] : []
  return requests.flatMap(({ mediaContent }) => mediaContent ?? [])
}
