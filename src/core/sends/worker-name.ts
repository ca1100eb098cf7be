import type { Timeline } from './timeline.ts'

/** In earlier releases, a worker's name was its host, its process and some random digits. */
const withHost = /^.+-\d+-([0-9a-f]{6})$/

/** A timeline as clients see it: old attempts, too, say nothing about the operator's hosts. */
export const withoutHosts = (timeline: Timeline): Timeline => ({
  ...timeline,
  events: timeline.events.map((event) =>
    typeof event.worker === 'string'
      ? { ...event, worker: event.worker.replace(withHost, 'worker-$1') }
      : event,
  ),
})
