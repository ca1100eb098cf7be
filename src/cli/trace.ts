import type { Command } from 'commander'
import { findSend } from '../../db/sends.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { buildTimeline, type Timeline } from '../core/timeline.ts'
import { answer, CliError } from './answer.ts'

export function traceCommand(program: Command): void {
  program
    .command('trace')
    .description('what became of a send')
    .argument('<requestId>')
    .action((requestId: string, _options: object, command: Command) =>
      answer(
        command,
        async ({ db }) => {
          const found = canBeRecordId(requestId) ? await findSend(db, requestId) : undefined
          if (found) return buildTimeline(found.send, found.events, 'masked')
          throw new CliError(`No send ${requestId}: it was never accepted; search the logs for the id`)
        },
        renderTimeline,
      ),
    )
}

/** A send's story for a terminal: what it is, then a line an event with the time since the one before. */
export function renderTimeline(timeline: Timeline): string {
  const { requestId, status, contact, messageType, events } = timeline
  let before = Date.parse(timeline.acceptedAt)
  const lines = events.map(({ at, event, ...fields }) => {
    const sinceMs = Date.parse(at) - before
    before += sinceMs
    const told = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
    return [
      `  ${at}`,
      `+${sinceMs} ms`.padStart(11),
      event,
      ...told.map(([name, value]) => `${name}=${value}`),
    ].join('  ')
  })
  return [`${requestId}  ${status}  ${messageType} to ${contact.value}`, ...lines].join('\n')
}
