export interface Answer {
  at: number
  ms: number
  /** Undefined where the connection broke. */
  status: number | undefined
  requestId: string | undefined
  /** It says that the send of an earlier request was found by its key. */
  isReplay: boolean
  /** Undefined where the answer doesn't tell. */
  retryAfterMs: number | undefined
}

/** What one client knows of its send: every answer it got, in order. */
export interface ClientSend {
  channelId: string
  key: string
  contact: string
  /** Without a key it asks only once. */
  isKeyed: boolean
  answers: Answer[]
}

export function requestIdsTold({ answers }: ClientSend): string[] {
  const told = answers.flatMap(({ status, requestId }) => (status === 202 && requestId ? [requestId] : []))
  return [...new Set(told)]
}
