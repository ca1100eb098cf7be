import type { Delivery } from '../../delivery.ts'
import type { CallContext } from '../../shared/http/http-call.ts'

export type FileConfig = Readonly<Record<string, string>>

/** What a hole may be filled from. */
export interface Facts {
  delivery: Delivery<FileConfig>
  context: CallContext
  /** Undefined if the channel takes no receipts. */
  receiptsUrl: string | undefined
  /** The one that is filled at the moment, within a list. */
  item?: Item
  /** Content as base64, or what stands for it until the body is written. */
  encode(content: Buffer): string
}

export type Value = string | number | undefined

/** One of several values of a message, for each of which a tree is filled. */
export type Item = { file: AttachedFile } | { tag: { name: string; value: string } }

export interface AttachedFile {
  name: string
  contentType: string
  contentId: string | undefined
  content: Buffer | undefined
}
