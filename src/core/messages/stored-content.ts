import type { MessageType } from './message.ts'

/*
 * The bytes of a send that came as base64 are stored as one, in this order: those of its media, then those of its attachments. The
 * message has their sizes.
 */

interface WithSize {
  sizeBytes?: number | undefined
}

/** A message, or what was kept of it. */
type Sized = { email?: { attachments?: readonly WithSize[] | undefined } | undefined } & (
  | { type: Exclude<MessageType, 'media'> }
  | { type: 'media'; media: WithSize }
)

const sizesOf = ({ email, ...message }: Sized): (number | undefined)[] => [
  message.type === 'media' ? message.media.sizeBytes : undefined,
  ...(email?.attachments ?? []).map(({ sizeBytes }) => sizeBytes),
]

/** The number of bytes stored of a message; 0 if nothing came as base64. */
export function storedBytes(message: Sized): number {
  // Most messages have neither media nor attachments: they cost no list.
  if (message.type !== 'media' && !message.email?.attachments) return 0
  return sizesOf(message).reduce<number>((sum, size = 0) => sum + size, 0)
}

export interface Contents {
  mediaContent: Buffer | undefined
  /** The bytes of each attachment, in their order; undefined for a link. */
  attachmentContents: (Buffer | undefined)[]
}

/** The parts of what is stored, without a copy. */
export function contentsIn(message: Sized, stored: Buffer | undefined): Contents {
  let end = 0
  const [mediaContent, ...attachmentContents] = sizesOf(message).map((size) => {
    if (size === undefined) return undefined
    end += size
    return stored?.subarray(end - size, end)
  })
  return { mediaContent, attachmentContents }
}
