const lowerCaseUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text can be a record's id. Ids are opaque to clients: if it can't, the record is absent, never a format error. */
export function canBeRecordId(text: string): boolean {
  return lowerCaseUuid.test(text)
}

const version7 = /^.{14}7.{4}[89ab]/

/** Whether a record's id can have been made by this service: all are UUIDv7, so most random ids need no look-up. */
export const canHaveBeenMade = (text: string): boolean => canBeRecordId(text) && version7.test(text)

/** The time at which a record's id was made, in ms since 1970. */
export const madeAtMs = (id: string): number => Number.parseInt(id.replace('-', '').slice(0, 12), 16)

/** The lowest id that can be made at this time. */
export function firstIdAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
