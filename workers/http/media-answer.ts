import { maxMediaBytes } from '../../src/core/messages/message-body.ts'
import { mimetypeIn } from '../../src/core/messages/mimetype.ts'
import type { OwnShortage } from '../../src/core/sends/own-shortage.ts'

/**
 * The result of a fetch. `refused`: a retry would have the same result. `failed`: a retry may succeed. `put_off`: this worker
 * can't fetch now, whatever the media. Reasons never contain the URL, which may contain secrets.
 */
export type FetchedMedia =
  | { kind: 'media'; content: Buffer; mimetype: string | undefined }
  | { kind: 'refused'; reason: string }
  | { kind: 'failed'; reason: string }
  | { kind: 'put_off'; reason: string; delayMs?: number; shortage?: OwnShortage }

export const tooLarge = {
  kind: 'refused',
  reason: `the media is larger than ${maxMediaBytes} bytes`,
} as const
export const notInTime = { kind: 'failed', reason: 'the media did not come in time' } as const
export const noMemory = {
  kind: 'put_off',
  reason: "the worker's memory budget for media is used up",
} as const
export const stopping = {
  kind: 'put_off',
  reason: 'the worker was stopped while it fetched the media',
  delayMs: 0,
} as const

type Headers = Record<string, string | string[] | undefined>

const passingStatuses = [408, 425, 429]

/** Why a response is unusable, by its status and headers; undefined if it isn't. */
export function whyUnusable(status: number, headers: Headers): FetchedMedia | undefined {
  if (status >= 500 || passingStatuses.includes(status)) {
    return { kind: 'failed', reason: `the server of the media answered ${status}` }
  }
  if (status >= 400) return { kind: 'refused', reason: `the server of the media answered ${status}` }
  if (status >= 300) {
    return { kind: 'refused', reason: `the media's URL redirects (${status}), which is not followed` }
  }
  if (status === 206) return { kind: 'refused', reason: 'the server of the media sent only a part of it' }
  if (isEncoded(headers)) {
    return {
      kind: 'refused',
      reason: 'the server of the media compresses it, although the request forbids that',
    }
  }
  return Number(headerOf(headers, 'content-length')) > maxMediaBytes ? tooLarge : undefined
}

const plainEncodings = ['', 'identity', 'chunked']

function isEncoded(headers: Headers): boolean {
  const given = [headers['content-encoding'], headers['transfer-encoding']].flat().join(',').split(',')
  return !given.every((encoding) => plainEncodings.includes(encoding.trim().toLowerCase()))
}

/** The declared content type with its parameters; undefined if it is missing or malformed. */
export const mimetypeOf = (headers: Headers): string | undefined =>
  mimetypeIn([headers['content-type']].flat()[0] ?? '')

export function headerOf(headers: Headers, name: string): string | undefined {
  return [headers[name]].flat()[0]?.trim().toLowerCase()
}
