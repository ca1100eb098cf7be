import { bodyLimit } from 'hono/body-limit'
import { PageError } from '../errors.tsx'

/** The page of the preview holds the file, so that it is uploaded once. */
export const maxImportBytes = 1_048_576
/** Of a form, around the file. */
const marginBytes = 65_536

export const importLimit = bodyLimit({
  maxSize: maxImportBytes + marginBytes,
  onError: () => {
    throw new PageError(
      413,
      'This file is larger than 1 MiB. Divide it, or run: outbound suppression import --account ACCOUNT --file FILE',
    )
  },
})
