import { extname } from 'node:path'
import type { SendRequest } from '../../../core/sends/send-request.ts'
import { MemoryBudget, type Reservation } from '../../../platform/memory/memory-budget.ts'
import { Thread } from '../../../platform/memory/thread.ts'
import type { Settings } from '../../../platform/settings/settings.ts'
import { asApiError } from '../../errors.ts'
import type { ClientTimeouts } from '../../http/client-timeouts.ts'
import type { BodyForm, Parsed } from '../parse-body.ts'
import { lengthOf } from '../pieces.ts'
import type { ParserInput, ParserOptions } from './parser-thread.ts'

const mebibyte = 1024 * 1024
/** A body beyond this is large. Parsing one of this size takes a millisecond or two. */
export const smallBytes = 128 * 1024
/** Memory budget for large bodies, from the start of receiving them until they are answered. */
export const receivedBytes = 128 * mebibyte
/** Memory budget for received bodies that are parsed and recorded: one that PostgreSQL writes, and the next one. */
export const processedBytes = 48 * mebibyte

/** After this long, parsing counts as hung. */
const parsedWithinMs = 10_000

const refusal = 'the memory budget for large bodies stayed full for too long'

export type LargeBodies = ReturnType<typeof openLargeBodies>

/**
 * Keeps large bodies from filling the memory and from delaying small ones (docs/decisions/0037-large-bodies.md): they share
 * memory budgets, and are parsed in a thread.
 */
export function openLargeBodies(
  settings: Pick<Settings, 'MAX_BODY_BYTES' | 'CLIENT_PRIVATE_NETWORKS'>,
  { queuedMs }: ClientTimeouts,
) {
  const budget = (bytes: number) =>
    new MemoryBudget({ bytes: Math.max(bytes, settings.MAX_BODY_BYTES), waitMs: queuedMs, refusal })
  const received = budget(receivedBytes)
  const processed = budget(processedBytes)
  const parserOptions: ParserOptions = {
    allowedPrivateNetworks: settings.CLIENT_PRIVATE_NETWORKS.map(([base, bits]) => `${base}/${bits}`),
  }
  const thread = new Thread<ParserInput, Parsed>(threadFile(), {
    workerData: parserOptions,
    taskMs: parsedWithinMs,
    resourceLimits: { maxOldGenerationSizeMb: 128 + 8 * Math.ceil(settings.MAX_BODY_BYTES / mebibyte) },
  })

  return {
    /** For a body, from the start of receiving it until it is answered. Too little memory in time is answered with 503. */
    reservationFor: (owner: string): Reservation => received.reservationFor(owner),
    /**
     * Parses a body in the thread, to which its pieces are moved, then runs the rest of the request. Waits while too many
     * bytes are being processed.
     */
    async parse(
      pieces: readonly Buffer[],
      form: BodyForm,
      owner: string,
      rest: (parsed: Parsed) => Promise<void>,
    ) {
      const memory = processed.reservationFor(owner)
      await memory.reserve(lengthOf(pieces))
      try {
        const parsed = await thread.run(
          { pieces, form },
          pieces.map(({ buffer }) => buffer as ArrayBuffer),
        )
        await rest(withBuffer(parsed))
      } catch (error) {
        // PostgreSQL is down or too slow. The waiting requests would all get a 503 too, one after the other.
        if (asApiError(error as Error).statusCode === 503) processed.refuseWaiting()
        throw error
      } finally {
        memory.release()
      }
    },
  }
}

/** The thread's module next to this one: `.ts` as source, `.js` in the build. */
function threadFile(): URL {
  return new URL(`./parser-thread${extname(import.meta.url)}`, import.meta.url)
}

/** Passing a Buffer from the thread makes it a Uint8Array. */
function withBuffer(parsed: Parsed): Parsed {
  if ('request' in parsed) return { request: withBufferIn(parsed.request) }
  return 'requests' in parsed ? { requests: parsed.requests.map(withBufferIn) } : parsed
}

function withBufferIn(request: SendRequest): SendRequest {
  if (!request.mediaContent) return request
  const { buffer, byteOffset, byteLength } = request.mediaContent
  return { ...request, mediaContent: Buffer.from(buffer, byteOffset, byteLength) }
}
