/**
 * Reasons of sends that end without a provider's answer. They are stored, and `ownReasonOf` recognises stored ones by these texts.
 * So a text, once released, must not change.
 */
export const ownReasons = {
  expired: 'expired',
  mediaGone: 'the media is no longer kept',
  channelDeleted: 'its channel was deleted',
  givenUp: 'given up: workers kept crashing on it',
  /** Of an uncertain send, and of one that failed by a late outcome after that. The others are of failed ones. */
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

/** The reason of a channel that an operator holds. */
export const heldByOperator = 'held by an operator'

/** The same, with the operator's own words. */
export const heldFor = (words: string): string => `${heldByOperator}: ${words}`

export const isHeldByOperator = (reason: string | null): boolean =>
  reason === heldByOperator || reason?.startsWith(heldFor('')) === true

/** Ends the reason of a send that failed at its last attempt. */
export const lastAttempt = '(the last attempt)'
