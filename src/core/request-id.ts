/** The requestId in whatever was pasted: quoted, within a URL, a whole log line. Undefined where there is none. */
export function findRequestId(pasted: string): string | undefined {
  return /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/i.exec(pasted)?.[0].toLowerCase()
}

export interface UnknownIdFacts {
  now: Date
  retentionDays: number
}

/** Why an id is no send, and what to do. */
export interface UnknownId {
  /** The id that was found in it; absent where none was. */
  requestId?: string
  /** One sentence. */
  why: string
  /** What to do next, each a sentence; a command stands between backticks. */
  next: string[]
}

/** @param text as it was given. Only for what was looked up in vain, or holds no id. */
export function explainUnknownId(text: string, _facts: UnknownIdFacts): UnknownId {
  const requestId = findRequestId(text)
  if (requestId === undefined) return { why: 'That holds no requestId.', next: [] }
  return { requestId, why: 'No send has this id.', next: [`Search the logs: \`grep ${requestId}\`.`] }
}
