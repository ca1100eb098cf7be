import { parseNetwork } from '../../core/public-address.ts'
import { serve } from '../../platform/thread.ts'
import { type BodyForm, bodyParser, type Parsed } from './parse-body.ts'
import { parseLarge } from './parse-large-body.ts'
import { joiner } from './pieces.ts'

export interface ParseGiven {
  /** As CIDR. */
  allowedPrivateNetworks: string[]
}

export interface ParseAsked {
  pieces: readonly Uint8Array[]
  form: BodyForm
}

/** The thread that judges large bodies. */
serve<ParseGiven, ParseAsked, Parsed>(({ allowedPrivateNetworks }) => {
  const parse = bodyParser(allowedPrivateNetworks.map(parseNetwork))
  const join = joiner()
  return ({ pieces, form }) => {
    const answer = parseLarge(parse, join(pieces), form)
    const content = 'asked' in answer ? answer.asked.mediaContent : undefined
    // What is small shares its memory with others, and is copied.
    const transfer = content && content.length > Buffer.poolSize ? [content.buffer as ArrayBuffer] : []
    return { output: answer, transfer }
  }
})
