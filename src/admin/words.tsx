import type { SendStatus } from '../core/timeline.ts'

/** A moment as people read it: always UTC, always saying so. */
export function Moment({ at, precise = false }: { at: Date | string; precise?: boolean }) {
  const iso = new Date(at).toISOString()
  const [day, time = ''] = iso.split('T')
  return (
    <time datetime={iso}>
      {day} {precise ? time.slice(0, 12) : time.slice(0, 8)} UTC
    </time>
  )
}

/** What a state means to somebody who doesn't know the service. */
export const stateWords: Record<SendStatus, string> = {
  queued: 'waiting for its turn or for a retry',
  sending: 'a call to the provider is under way',
  sent: 'accepted by the provider',
  failed: 'given up or refused, and not tried again',
  uncertain: 'the provider may or may not have it',
}

export function State({ status }: { status: SendStatus }) {
  return (
    <span class={`state ${status}`} title={stateWords[status]}>
      {status}
    </span>
  )
}

/** Text in which a command stands between backticks. */
export function WithCommands({ text }: { text: string }) {
  return <>{text.split('`').map((part, place) => (place % 2 ? <code>{part}</code> : part))}</>
}
