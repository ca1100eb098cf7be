import { type Fault, faults } from '../sends/outcome.ts'
import type { AttemptRecord } from '../sends/timeline.ts'

/** The fault of a failed attempt; undefined if it didn't fail, and in timelines of earlier releases. */
export const faultOf = ({ fault }: AttemptRecord): Fault | undefined =>
  faults.find((known) => known === fault)

/** The effect of a failure on the channel's other sends. A failure of the provider has no words here: it obviously concerns all. */
export const effectOf: Record<Fault, string> = {
  recipient: ' It concerns this contact only: other sends of the channel go on.',
  message: ' It concerns this message only: other sends of the channel go on.',
  sender: " It concerns the channel's own account, number or address: its other sends may meet the same.",
  provider: '',
}

/** When to replay a send whose attempts failed. */
export const replayWhen: Record<Fault, string> = {
  recipient: 'the contact can receive messages again',
  message: 'the cause is fixed, for example its media is available at the mediaUrl',
  sender: "the channel's account, number or address may send again",
  provider: 'the provider works again',
}
