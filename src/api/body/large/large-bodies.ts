import { extname } from 'node:path'
import { Semaphore } from '../../../platform/semaphore.ts'
import type { Settings } from '../../../platform/settings.ts'
import { Thread } from '../../../platform/thread.ts'
import type { ClientTimeouts } from '../../client-timeouts.ts'
import { asApiError } from '../../errors.ts'
import type { BodyForm, Parsed } from '../parse-body.ts'
import { lengthOf } from '../pieces.ts'
import type { ParserInput, ParserOptions } from './parser-thread.ts'

const mebibyte = 1024 * 1024
/** A body beyond this is large. Parsing one of this size takes a millisecond or two. */
export const smallBytes = 128 * 1024
/** Memory budget for large bodies, from the start of receiving them until they are answered. */
export const receivedBytes = 192 * mebibyte
/** Memory budget for received bodies that are parsed and recorded: one that PostgreSQL writes, and the next one. */
export const processedBytes = 48 * mebibyte

/** After this long, parsing counts as hung. */
const parsedWithinMs = 10_000

/** The part of the memory budget for one body; empty until `reserve`. */
export interface Reservation {
  /** @throws NotAcquired, which is answered with 503, if none is free in time; the signal's reason if it is aborted first. */
  reserve(bytes: number, signal: AbortSignal): Promise<void>
  release(): void
}

export type LargeBodies = ReturnType<typeof openLargeBodies>

/**
 * Keeps large bodies from filling the memory and from delaying small ones (docs/decisions/0037-large-bodies.md): they share
 * memory budgets, and are parsed in a thread.
 */
export function openLargeBodies(
  settings: Pick<Settings, 'MAX_BODY_BYTES' | 'ALLOWED_PRIVATE_NETWORKS'>,
  { queuedMs }: ClientTimeouts,
) {
  const received = memoryBudget(Math.max(receivedBytes, settings.MAX_BODY_BYTES))
  const processed = memoryBudget(Math.max(processedBytes, settings.MAX_BODY_BYTES))
  const parserOptions: ParserOptions = {
    allowedPrivateNetworks: settings.ALLOWED_PRIVATE_NETWORKS.map(([base, bits]) => `${base}/${bits}`),
  }
  const thread = new Thread<ParserInput, Parsed>(threadFile(), {
    workerData: parserOptions,
    taskMs: parsedWithinMs,
    resourceLimits: { maxOldGenerationSizeMb: 128 + 8 * Math.ceil(settings.MAX_BODY_BYTES / mebibyte) },
  })

  return {
    reservationFor(owner: string): Reservation {
      let release = () => {}
      return {
        async reserve(bytes, signal) {
          release = await received.acquire({ units: bytes, owner }, queuedMs, signal)
        },
        release: () => release(),
      }
    },
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
      const release = await processed.acquire({ units: lengthOf(pieces), owner }, queuedMs)
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
        release()
      }
    },
  }
}

function memoryBudget(bytes: number): Semaphore {
  return new Semaphore({
    units: bytes,
    unitsOfOwner: bytes / 2,
    refusal: 'the memory budget for large bodies stayed full for too long',
  })
}

/** The thread's module next to this one: `.ts` as source, `.js` in the build. */
function threadFile(): URL {
  return new URL(`./parser-thread${extname(import.meta.url)}`, import.meta.url)
}

/** Passing a Buffer from the thread makes it a Uint8Array. */
function withBuffer(parsed: Parsed): Parsed {
  if (!('request' in parsed) || !parsed.request.mediaContent) return parsed
  const { buffer, byteOffset, byteLength } = parsed.request.mediaContent
  return { request: { ...parsed.request, mediaContent: Buffer.from(buffer, byteOffset, byteLength) } }
}
