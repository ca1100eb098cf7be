import { bodyLimit } from 'hono/body-limit'
import { PageError } from '../errors.tsx'

/** Enough for a long log line with a stack trace. */
const maxFormBytes = 256 * 1024

export const formLimit = bodyLimit({
  maxSize: maxFormBytes,
  onError: () => {
    throw new PageError(413, 'This text is too long. Paste only the line that matters.')
  },
})
