export interface Answer {
  at: number
  ms: number
  /** Undefined if the connection broke. */
  status: number | undefined
  requestId: string | undefined
  /** Whether the answer is that of an earlier request with its key. */
  isReplay: boolean
  /** Undefined if the answer has none. */
  retryAfterMs: number | undefined
}

/** A client's send, with all its answers in order. */
export interface ClientSend {
  channelId: string
  key: string
  contact: string
  /** Without a key it sends only once. */
  isKeyed: boolean
  /** When it is to be sent; undefined for now. */
  sendAt?: Date | undefined
  answers: Answer[]
}

export function acceptedIds({ answers }: ClientSend): string[] {
  const accepted = answers.flatMap(({ status, requestId }) =>
    status === 202 && requestId ? [requestId] : [],
  )
  return [...new Set(accepted)]
}
