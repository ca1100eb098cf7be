import { type Fault, faults } from '../outcome.ts'
import type { AttemptRecord } from '../timeline.ts'

/** Absent where an attempt didn't fail, and in timelines of earlier releases. */
export const faultOf = ({ fault }: AttemptRecord): Fault | undefined =>
  faults.find((known) => known === fault)

/** What a failure that is tried again means to the channel's other sends; the provider's fault, all know by itself. */
export const effectOf: Record<Fault, string> = {
  recipient: ' It concerns this contact only: other sends of the channel go on.',
  message: ' It concerns this message only: other sends of the channel go on.',
  sender: " It concerns the channel's own account, number or address: its other sends may meet the same.",
  provider: '',
}

/** When a send that was tried in vain may be replayed with better luck. */
export const betterLuck: Record<Fault, string> = {
  recipient: 'the contact can take messages again',
  message: 'what its message needs is there, such as the media at its mediaUrl',
  sender: "the channel's account, number or address may send again",
  provider: 'the provider works again',
}
