import type { SendStatus } from '../../src/core/sends/timeline.ts'

/*
 * The tables of docs/reference/receipts.md and docs/how-to/fall-back.md as a pure function: what becomes of a send to a phone, that the
 * channel A has claimed, and whose fallback is B. B has none.
 */

export type Step =
  | 'A sent'
  | 'A rejected'
  | 'A uncertain'
  | 'A delivered'
  | 'A undelivered'
  | 'B claims'
  | 'B sent'
  | 'B rejected'
  | 'B uncertain'
  | 'B delivered'
  | 'B undelivered'
  | 'cancel'
  | 'replay'

type Word = 'delivered' | 'undelivered'

export interface State {
  status: SendStatus
  delivery: Word | null
  on: 'A' | 'B'
  /** Whether it ever fell back. */
  fell: boolean
  /** Receipts of the channel that is calling its provider. */
  kept: Word[]
  /** Whether an attempt on the present channel may have got through. */
  inDoubt: boolean
  /** Whether it was canceled in doubt: then nothing is sent any more. */
  unwanted: boolean
  replayed: boolean
}

export const begun: State = {
  ...{ status: 'sending', delivery: null, on: 'A', fell: false, kept: [] },
  ...{ inDoubt: false, unwanted: false, replayed: false },
}

export function after(state: State, step: Step): State {
  if (step === 'cancel') return canceled(state)
  if (step === 'replay') return replayed(state)
  const [channel, word] = step.split(' ') as ['A' | 'B', 'sent' | 'rejected' | 'uncertain' | 'claims' | Word]
  if (word === 'delivered' || word === 'undelivered') return received(state, channel, word)
  if (word === 'claims')
    return state.on === 'B' && state.status === 'queued'
      ? { ...state, status: 'sending', replayed: false }
      : state
  return channel === state.on && state.status === 'sending' ? answered(state, word) : state
}

const highest = (words: readonly Word[]): Word | null =>
  words.includes('delivered') ? 'delivered' : words.includes('undelivered') ? 'undelivered' : null

function answered(state: State, word: 'sent' | 'rejected' | 'uncertain'): State {
  const { kept } = state
  const isConfirmed = word === 'rejected' ? kept.includes('delivered') : kept.length > 0
  const status = isConfirmed || word === 'sent' ? 'sent' : word === 'rejected' ? 'failed' : 'uncertain'
  const delivery = status === 'sent' ? highest(kept) : null
  return fallenBack({ ...state, status, delivery, kept: [], inDoubt: word === 'uncertain' || state.inDoubt })
}

function received(state: State, channel: 'A' | 'B', word: Word): State {
  const { status, on, delivery } = state
  if (channel !== on) {
    if (!state.fell || status !== 'queued' || word !== 'delivered') return state
    return { ...state, status: 'sent', delivery: word, on: channel }
  }
  if (status === 'sending') return { ...state, kept: [...state.kept, word] }
  if (status === 'sent')
    return fallenBack({ ...state, delivery: highest([word, ...(delivery ? [delivery] : [])]) })
  if (status === 'uncertain') return fallenBack({ ...state, status: 'sent', delivery: word })
  const isTold = status === 'canceled' || word === 'undelivered'
  return isTold ? state : { ...state, status: 'sent', delivery: word }
}

/** It goes on if it failed without a doubt, or was reported as not delivered. */
function fallenBack(state: State): State {
  const { status, delivery, on, fell, inDoubt, unwanted } = state
  const failed = status === 'failed' && !inDoubt
  const undelivered = status === 'sent' && delivery === 'undelivered'
  if (on === 'B' || fell || unwanted || !(failed || undelivered)) return state
  return { ...begun, status: 'queued', on: 'B', fell: true }
}

function canceled(state: State): State {
  if (state.status !== 'queued') return state
  return state.inDoubt ? { ...state, status: 'uncertain', unwanted: true } : { ...state, status: 'canceled' }
}

function replayed(state: State): State {
  const isEnded = state.status === 'failed' || state.status === 'uncertain'
  return isEnded && !state.unwanted ? { ...state, status: 'queued', replayed: true } : state
}
