import { singleLine } from '../requests/fields.ts'

/**
 * Reasons of sends that end without a provider's answer. They are stored, and `ownReasonOf` recognises stored ones by these texts.
 * So a text, once released, must not change.
 */
export const ownReasons = {
  expired: 'expired',
  mediaGone: 'the media is no longer kept',
  channelDeleted: 'its channel was deleted',
  givenUp: 'given up: workers kept crashing on it',
  /** Uncertain sends have it, and sends that failed by a late outcome after that. Only failed sends have the others. */
  canceledInDoubt: 'canceled after an attempt that may have got through',
  /** Only the beginning of the reason; the provider's last answer follows. */
  providerAway: "the channel's provider kept failing",
} as const

/** Which of them a stored reason is, or begins with; undefined for the reasons of attempts. */
export function ownReasonOf(reason: string): keyof typeof ownReasons | undefined {
  if (reason.startsWith(ownReasons.givenUp)) return 'givenUp'
  if (reason.startsWith(ownReasons.providerAway)) return 'providerAway'
  const whole = ['expired', 'mediaGone', 'channelDeleted', 'canceledInDoubt'] as const
  return whole.find((key) => reason === ownReasons[key])
}

/** The reason of a send that a person settled as failed. @param why in the person's words. */
export const settledAsFailed = (why: string) => `settled by a person: the provider doesn't have it: ${why}`

export const longestOperatorReason = 500
/** Why a person changes something. Blanks alone, such as zero-width ones, or a dash would fill a field that requires a reason. */
export const operatorReason = singleLine(1, longestOperatorReason).refine(
  (text) => /[\p{L}\p{N}]/u.test(text),
  'has neither letters nor digits',
)
/** The form of an `operatorReason`, for people. */
export const operatorReasonForm = `1 to ${longestOperatorReason} characters on one line, with a letter or a digit`

const byOperator = 'held by an operator'

/** The reason of a channel that an operator holds. @param why in the operator's words. */
export const heldByOperator = (why?: string) => (why === undefined ? byOperator : `${byOperator}: ${why}`)

/** The operator's words; empty if there are none, undefined if no operator holds the channel. */
export function operatorsReason(heldReason: string): string | undefined {
  if (heldReason === byOperator) return ''
  const begin = `${byOperator}: `
  return heldReason.startsWith(begin) ? heldReason.slice(begin.length) : undefined
}

/** Ends the reason of a send that failed at its last attempt. */
export const lastAttempt = '(the last attempt)'
