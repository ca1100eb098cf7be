import { parseNetwork } from '../core/public-address.ts'
import { serve } from '../platform/thread.ts'
import { type BodyForm, bodyJudge, type Judged } from './judge-body.ts'
import { judgeLarge } from './judge-large.ts'
import { lengthOf } from './pieces.ts'

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
  const inOne = joiner()
  return ({ pieces, form }) => {
    const answer = judgeLarge(judge, inOne(pieces), form)
    const content = 'asked' in answer ? answer.asked.mediaContent : undefined
    // What is small shares its memory with others, and is copied.
    const transfer = content && content.length > Buffer.poolSize ? [content.buffer as ArrayBuffer] : []
    return { answer, transfer }
  }
})

/** Puts pieces together in the memory of those before: to be given as much anew each time would take longer than the rest. */
function joiner() {
  let memory = Buffer.alloc(0)
  return (pieces: readonly Uint8Array[]): Buffer => {
    const length = lengthOf(pieces)
    if (length > memory.length) memory = Buffer.allocUnsafeSlow(length)
    let joined = 0
    for (const piece of pieces) {
      memory.set(piece, joined)
      joined += piece.length
    }
    return memory.subarray(0, length)
  }
}
