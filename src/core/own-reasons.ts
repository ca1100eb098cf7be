/** Why sends fail without a provider's answer: as it is kept, and by what the story knows it again. */
export const ownReasons = {
  expired: 'expired',
  mediaGone: 'the media is no longer kept',
  channelDeleted: 'its channel was deleted',
  givenUp: 'given up: workers kept crashing on it',
  /** Begins it; the provider's last answer follows. */
  providerAway: "the channel's provider kept failing",
} as const

/** Why a channel is held that no provider refused. */
export const heldByOperator = 'held by an operator'

/** Ends the reason of what was tried as often as it may be. */
export const lastAttempt = '(the last attempt)'
