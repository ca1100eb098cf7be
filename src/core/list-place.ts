/** The place of an item in a list that is ordered by time: after which a page begins. */
export interface Place {
  /** Microseconds since 1970, since a Date would lose them. */
  micros: string
  /** Tells items of the same time apart. */
  key: string
}

/** In the year 9999, which PostgreSQL can still store. */
const latestMicros = 253_370_764_800_000_000

/**
 * How clients get the places of a list, as `next`, and send them, as `after`.
 *
 * @param list its name: the `next` of another list is refused.
 * @param isKey whether an item of the list can have this key.
 */
export function placesOf(list: string, isKey: (key: string) => boolean) {
  return {
    write: ({ micros, key }: Place): string =>
      Buffer.from(JSON.stringify([list, micros, key])).toString('base64url'),
    read(text: string): Place | undefined {
      const [name, micros, key, ...rest] = parse(text)
      if (name !== list || rest.length > 0 || typeof micros !== 'string' || typeof key !== 'string')
        return undefined
      return isMicros(micros) && isKey(key) ? { micros, key } : undefined
    },
  }
}

const isMicros = (text: string) => /^\d{1,18}$/.test(text) && Number(text) <= latestMicros

function parse(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
