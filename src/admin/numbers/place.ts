import type { z } from 'zod'

/**
 * How links keep the place in a list, after which a page begins.
 *
 * @param shape its fields.
 */
export function placeIn<Place extends object>(shape: z.ZodType<Place>) {
  return {
    write: (place: Place): string => Buffer.from(JSON.stringify(place)).toString('base64url'),
    /** @returns undefined, which is the first page, for anything else. */
    read(text: string | undefined): Place | undefined {
      try {
        return shape.safeParse(JSON.parse(Buffer.from(text ?? '', 'base64url').toString())).data
      } catch {
        return undefined
      }
    },
  }
}
