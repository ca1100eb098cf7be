import { extname } from 'node:path'
import { Semaphore } from '../../platform/semaphore.ts'
import type { Settings } from '../../platform/settings.ts'
import { Thread } from '../../platform/thread.ts'
import type { ClientTimeouts } from '../client-timeouts.ts'
import { asApiError } from '../errors.ts'
import type { BodyForm, Parsed } from './parse-body.ts'
import type { ParseAsked, ParseGiven } from './parser-thread.ts'
import { lengthOf } from './pieces.ts'

const mebibyte = 1024 * 1024
/** What bodies may be without being large: to parse one takes a millisecond or two. */
export const smallBytes = 128 * 1024
/** Of large bodies that come or have come, until they are answered. */
const heldBytes = 192 * mebibyte
/** Of those that have come, what is parsed and recorded at a time: one that PostgreSQL writes, and the next. */
const workedOnBytes = 48 * mebibyte

/** What takes longer hangs. */
const parsedWithinMs = 10_000

/** A place for one body; it has none before it needs one. */
export interface Place {
  /** @throws NotAcquired, which is a 503, where none is free in time; the signal's reason where that comes first. */
  take(bytes: number, signal: AbortSignal): Promise<void>
  leave(): void
}

export type LargeBodies = ReturnType<typeof openLargeBodies>

/**
 * What keeps large bodies from filling the memory and from holding up the small ones
 * (docs/decisions/0037-large-bodies.md).
 */
export function openLargeBodies(
  settings: Pick<Settings, 'MAX_BODY_BYTES' | 'ALLOWED_PRIVATE_NETWORKS'>,
  { queuedMs }: ClientTimeouts,
) {
  const held = memoryBudget(Math.max(heldBytes, settings.MAX_BODY_BYTES))
  const workedOn = memoryBudget(Math.max(workedOnBytes, settings.MAX_BODY_BYTES))
  const given: ParseGiven = {
    allowedPrivateNetworks: settings.ALLOWED_PRIVATE_NETWORKS.map(([base, bits]) => `${base}/${bits}`),
  }
  const thread = new Thread<ParseAsked, Parsed>(threadFile(), {
    workerData: given,
    taskMs: parsedWithinMs,
    resourceLimits: { maxOldGenerationSizeMb: 128 + 8 * Math.ceil(settings.MAX_BODY_BYTES / mebibyte) },
  })

  return {
    placeOf(owner: string): Place {
      let leave = () => {}
      return {
        async take(bytes, signal) {
          leave = await held.acquire({ units: bytes, owner }, queuedMs, signal)
        },
        leave: () => leave(),
      }
    },
    /**
     * Parses the body in the thread, where its pieces are moved to, then does the rest with what it asks for; few bodies
     * have come so far at a time.
     */
    async parse(
      pieces: readonly Buffer[],
      form: BodyForm,
      owner: string,
      rest: (parsed: Parsed) => Promise<void>,
    ) {
      const leave = await workedOn.acquire({ units: lengthOf(pieces), owner }, queuedMs)
      try {
        const parsed = await thread.run(
          { pieces, form },
          pieces.map(({ buffer }) => buffer as ArrayBuffer),
        )
        await rest(withBuffer(parsed))
      } catch (error) {
        // Those who wait would find the same, one after the other.
        if (asApiError(error as Error).statusCode === 503) workedOn.refuseWaiting()
        throw error
      } finally {
        leave()
      }
    },
  }
}

function memoryBudget(bytes: number): Semaphore {
  return new Semaphore({ units: bytes, unitsOfOwner: bytes / 2 })
}

/** Beside this one, as it is written or as it is built. */
function threadFile(): URL {
  return new URL(`./parser-thread${extname(import.meta.url)}`, import.meta.url)
}

/** On its way from the thread a Buffer becomes a bare array. */
function withBuffer(parsed: Parsed): Parsed {
  if (!('asked' in parsed) || !parsed.asked.mediaContent) return parsed
  const { buffer, byteOffset, byteLength } = parsed.asked.mediaContent
  return { asked: { ...parsed.asked, mediaContent: Buffer.from(buffer, byteOffset, byteLength) } }
}
