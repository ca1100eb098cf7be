import { parseNetwork } from '../../core/public-address.ts'
import { serve } from '../../platform/thread.ts'
import { type BodyForm, bodyJudge, type Judged } from './parse-body.ts'
import { judgeLarge } from './parse-large-body.ts'
import { joiner } from './pieces.ts'

export interface JudgeGiven {
  /** As CIDR. */
  allowedPrivateNetworks: string[]
}

export interface JudgeAsked {
  pieces: readonly Uint8Array[]
  form: BodyForm
}

/** The thread that judges large bodies. */
serve<JudgeGiven, JudgeAsked, Judged>(({ allowedPrivateNetworks }) => {
  const judge = bodyJudge(allowedPrivateNetworks.map(parseNetwork))
  const join = joiner()
  return ({ pieces, form }) => {
    const answer = judgeLarge(judge, join(pieces), form)
    const content = 'asked' in answer ? answer.asked.mediaContent : undefined
    // What is small shares its memory with others, and is copied.
    const transfer = content && content.length > Buffer.poolSize ? [content.buffer as ArrayBuffer] : []
    return { answer, transfer }
  }
})
