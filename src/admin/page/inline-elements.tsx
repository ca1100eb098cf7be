import type { SendStatus } from '../../core/sends/timeline.ts'

interface MomentProps {
  at: Date | string
  precise?: boolean
  /** Leaves out the zone, which the foot of the page names. */
  short?: boolean
}

/** A date and time in UTC; in the reader's zone where the script runs (console.js). */
export function Moment({ at, precise = false, short = false }: MomentProps) {
  const date = new Date(at)
  // PostgreSQL's infinity is one.
  if (Number.isNaN(date.getTime())) return <span class="muted">at no time that can be read</span>
  const iso = date.toISOString()
  const [day, time = ''] = iso.split('T')
  return (
    <time class="moment" datetime={iso}>
      {day} {precise ? time.slice(0, 12) : time.slice(0, 8)}
      {!short && ' UTC'}
    </time>
  )
}

/** The meaning of each state, for readers who don't know the service. */
export const stateWords: Record<SendStatus, string> = {
  queued: 'waiting to be sent, or for a retry',
  sending: 'a call to the provider is in progress',
  sent: 'accepted by the provider',
  failed: 'refused, or given up after its last retry',
  uncertain: 'the provider may or may not have it',
  canceled: 'canceled before it was sent',
}

export function State({ status }: { status: SendStatus }) {
  return (
    <span class={`state ${status}`} title={stateWords[status]}>
      {status}
    </span>
  )
}

/** Shows the parts of a text between backticks as code. */
export function WithCommands({ text }: { text: string }) {
  return <>{text.split('`').map((part, place) => (place % 2 ? <code>{part}</code> : part))}</>
}
