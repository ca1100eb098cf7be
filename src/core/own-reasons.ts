/**
 * Reasons of sends that fail without a provider's answer. They are stored, and explanation and replays recognise them by these
 * texts: after a change of wording, stored sends are no longer recognised.
 */
export const ownReasons = {
  expired: 'expired',
  mediaGone: 'the media is no longer kept',
  channelDeleted: 'its channel was deleted',
  givenUp: 'given up: workers kept crashing on it',
  /** Only the beginning of the reason; the provider's last answer follows. */
  providerAway: "the channel's provider kept failing",
} as const

/** The reason of a channel that an operator holds. */
export const heldByOperator = 'held by an operator'

/** Ends the reason of a send that failed at its last attempt. */
export const lastAttempt = '(the last attempt)'
