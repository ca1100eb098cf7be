import { bodyLimit } from 'hono/body-limit'
import { PageError } from '../errors.tsx'

/** The page of the preview holds the file, so that it is uploaded once. */
const maxImportBytes = 1_048_576
/** Bytes of a form around the file. */
const marginBytes = 65_536

const tooLarge = () =>
  new PageError(
    413,
    'This file is larger than 1 MiB. Divide it, or run: outbound suppression import --account ACCOUNT --file FILE',
  )

/** Browsers send each line end of the preview's form as two bytes. */
export const importLimit = bodyLimit({
  maxSize: 2 * maxImportBytes + marginBytes,
  onError: () => {
    throw tooLarge()
  },
})

/**
 * The text with one byte for each line end. Only then is its size measured: a file that has a preview is as large in the form of
 * the preview, and can be imported.
 *
 * @throws PageError 413 if it is too large.
 */
export function limitedText(given: string): string {
  const text = given.replace(/\r\n?/g, '\n')
  if (Buffer.byteLength(text) > maxImportBytes) throw tooLarge()
  return text
}
