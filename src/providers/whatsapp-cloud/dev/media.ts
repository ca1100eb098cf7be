/** The form of a `POST /{phone number id}/media`. */
export interface MediaForm {
  fields: Record<string, string>
  file?: { filename: string; type: string; content: Buffer }
}

export interface GraphFault {
  code: number
  title: string
  details?: string
}

// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types
const megabyte = 1024 * 1024
const maxBytes: Record<string, number> = {
  'audio/aac': 16 * megabyte,
  'audio/mp4': 16 * megabyte,
  'audio/mpeg': 16 * megabyte,
  'audio/amr': 16 * megabyte,
  'audio/ogg': 16 * megabyte,
  'application/vnd.ms-powerpoint': 100 * megabyte,
  'application/msword': 100 * megabyte,
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 100 * megabyte,
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 100 * megabyte,
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 100 * megabyte,
  'application/pdf': 100 * megabyte,
  'text/plain': 100 * megabyte,
  'application/vnd.ms-excel': 100 * megabyte,
  'image/jpeg': 5 * megabyte,
  'image/png': 5 * megabyte,
  'image/webp': 0.5 * megabyte,
  'video/mp4': 16 * megabyte,
  'video/3gpp': 16 * megabyte,
}

/** Undefined if the body can't be parsed as a form. */
export async function mediaFormOf(body: Buffer, contentType: string): Promise<MediaForm | undefined> {
  try {
    const form = await new Response(body, { headers: { 'content-type': contentType } }).formData()
    const fields: Record<string, string> = {}
    let file: MediaForm['file']
    for (const [name, value] of form) {
      if (typeof value === 'string') fields[name] = value
      else {
        file = { filename: value.name, type: value.type, content: Buffer.from(await value.arrayBuffer()) }
      }
    }
    return file ? { fields, file } : { fields }
  } catch {
    return undefined
  }
}

export function mediaIssue(media: MediaForm | undefined): GraphFault | undefined {
  const { fields = {}, file } = media ?? {}
  if (fields.messaging_product !== 'whatsapp') {
    return { code: 100, title: 'The parameter messaging_product is required.' }
  }
  if (!file) return { code: 100, title: 'The parameter file is required.' }
  const most = maxBytes[file.type]
  if (most === undefined) {
    // As it answered in https://github.com/fbsamples/whatsapp-api-examples/issues/10
    const types = Object.keys(maxBytes).join(', ')
    const title = `Param file must be a file with one of the following types: ${types}. Received file of type '${file.type}'.`
    return { code: 100, title }
  }
  if (file.content.length > most) {
    return { code: 131053, title: 'Media upload error', details: 'Media file size too big.' }
  }
  return undefined
}
