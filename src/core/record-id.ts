const lowerCaseUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Ids are opaque to clients: a text that no record can have as its id is simply absent, never a format error. */
export function canBeRecordId(text: string): boolean {
  return lowerCaseUuid.test(text)
}
