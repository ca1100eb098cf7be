/**
 * Reasons of sends that fail without a provider's answer. They are stored, and `ownReasonOf` recognises stored ones by these texts.
 * So a text, once released, must not change.
 */
export const ownReasons = {
  expired: 'expired',
  mediaGone: 'the media is no longer kept',
  channelDeleted: 'its channel was deleted',
  givenUp: 'given up: workers kept crashing on it',
  /** Only the beginning of the reason; the provider's last answer follows. */
  providerAway: "the channel's provider kept failing",
} as const

/** Which of them a stored reason is, or begins with; undefined for the reasons of attempts. */
export function ownReasonOf(reason: string): keyof typeof ownReasons | undefined {
  if (reason.startsWith(ownReasons.givenUp)) return 'givenUp'
  if (reason.startsWith(ownReasons.providerAway)) return 'providerAway'
  const whole = ['expired', 'mediaGone', 'channelDeleted'] as const
  return whole.find((key) => reason === ownReasons[key])
}

/** The reason of a channel that an operator holds. */
export const heldByOperator = 'held by an operator'

/** Ends the reason of a send that failed at its last attempt. */
export const lastAttempt = '(the last attempt)'
