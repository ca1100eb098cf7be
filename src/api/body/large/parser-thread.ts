import { parseNetwork } from '../../../core/public-address.ts'
import { serve } from '../../../platform/thread.ts'
import { type BodyForm, bodyParser, type Parsed } from '../parse-body.ts'
import { joiner } from '../pieces.ts'
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
  const parse = bodyParser(allowedPrivateNetworks.map(parseNetwork))
  const join = joiner()
  return ({ pieces, form }) => {
    const output = parseLarge(parse, join(pieces), form)
    const content = 'request' in output ? output.request.mediaContent : undefined
    // Small content may be in Node.js's shared buffer pool, so it is copied instead of moved.
    const transfer = content && content.length > Buffer.poolSize ? [content.buffer as ArrayBuffer] : []
    return { output, transfer }
  }
})
