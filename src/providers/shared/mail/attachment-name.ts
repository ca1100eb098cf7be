import { detectExtension } from 'nodemailer/lib/mime-funcs/mime-types'
import type { MediaDescription } from '../../../core/messages/message.ts'

const anyType = 'application/octet-stream'

/** The type of media as a part of a mail, and the name under which it is attached. */
export function attachedAs({ mediaType, mimetype = anyType, filename }: MediaDescription) {
  const contentType = asAttachment(mimetype)
  return { contentType, filename: filename ?? `${mediaType}.${extensionOf(contentType)}` }
}

function extensionOf(contentType: string): string {
  const [bare = ''] = contentType.toLowerCase().split(';')
  return bare.trim() === anyType ? 'bin' : detectExtension(bare.trim())
}

/** A multipart or message type would be taken for a part of this mail, and its bytes might be altered on the way. */
function asAttachment(contentType: string): string {
  return /^\s*(multipart|message)\//i.test(contentType) ? anyType : contentType
}
