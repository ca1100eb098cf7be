import { contentFault } from '../core/media-content.ts'
import type { SendRequest } from '../core/send-request.ts'
import { ApiError } from './errors.ts'

/** Holds the bytes of base64 media against the `mediaType` that they were sent as (docs/api.md#media). */
export async function checkMediaContent({ message, mediaContent }: SendRequest): Promise<void> {
  if (message.type !== 'media' || !mediaContent) return
  const fault = await contentFault(message.media.mediaType, mediaContent)
  if (fault) throw new ApiError(400, `message.media.base64: ${fault}`)
}
