const lowerCaseUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether a text can be a record's id. Ids are opaque to clients: if it can't, the record is absent, never a format error. */
export function canBeRecordId(text: string): boolean {
  return lowerCaseUuid.test(text)
}
