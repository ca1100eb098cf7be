export const channelStatuses = ['ready', 'failing', 'held'] as const
export type ChannelStatus = (typeof channelStatuses)[number]

interface ChannelMoments {
  heldAt: Date | null
  heldReason: string | null
  /** Null unless its circuit breaker is open. */
  breakerOpenUntil: Date | null
  breakerOpenedAt: Date | null
}

export const failingReason = "calls to the channel's provider keep failing, so only probes are made"

/** Whether a channel's sends go, and if they wait, since when and why. */
export function channelStatus({ heldAt, heldReason, breakerOpenUntil, breakerOpenedAt }: ChannelMoments): {
  status: ChannelStatus
  statusSince: Date | null
  statusReason: string | null
} {
  if (heldAt) return { status: 'held', statusSince: heldAt, statusReason: heldReason }
  if (breakerOpenUntil)
    return { status: 'failing', statusSince: breakerOpenedAt, statusReason: failingReason }
  return { status: 'ready', statusSince: null, statusReason: null }
}
