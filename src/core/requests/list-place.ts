import { z } from 'zod'

/** The place of an item in a list that is ordered by time: after which a page begins. */
export interface Place {
  /** Microseconds since 1970, since a Date would lose them. */
  micros: string
  /** Distinguishes items of the same time. */
  key: string
}

/** In the year 9999, which PostgreSQL can still store. */
export const latestMicros = 253_370_764_800_000_000

/**
 * Writes the place of an item as a text, and reads it: for lists of any order.
 *
 * @param shape the fields of a place.
 */
export function placeIn<Fields extends object>(shape: z.ZodType<Fields>) {
  return {
    write: (place: Fields): string => Buffer.from(JSON.stringify(place)).toString('base64url'),
    /** @returns undefined for anything else. */
    read(text: string | undefined): Fields | undefined {
      try {
        return shape.safeParse(JSON.parse(Buffer.from(text ?? '', 'base64url').toString())).data
      } catch {
        return undefined
      }
    },
  }
}

/**
 * Places of a list that is ordered by time. Clients get its places as `next`, and send them as `after`.
 *
 * @param list its name: the `next` of another list is refused.
 * @param isKey whether an item of the list can have this key.
 */
export function placesOf(list: string, isKey: (key: string) => boolean) {
  const places = placeIn(z.tuple([z.literal(list), z.string().refine(isMicros), z.string().refine(isKey)]))
  return {
    write: ({ micros, key }: Place): string => places.write([list, micros, key]),
    read(text: string): Place | undefined {
      const [, micros, key] = places.read(text) ?? []
      return micros !== undefined && key !== undefined ? { micros, key } : undefined
    },
  }
}

const isMicros = (text: string) => /^\d{1,18}$/.test(text) && Number(text) <= latestMicros
