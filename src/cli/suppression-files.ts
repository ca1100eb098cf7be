import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Suppression } from '../../db/suppression/entries.ts'
import { utf8Text } from '../core/requests/utf8.ts'
import { type CsvEntry, checkCsv, csvLine, entriesOfCsv } from '../core/suppression/suppression-csv.ts'
import { CliError } from './answer.ts'

const pageSize = 5000

interface CsvFile {
  path: string
  /** Whether the account has a channel with this id. */
  isChannel: (id: string) => boolean
}

/** Its lines by their numbers, from 1; undefined for one that isn't UTF-8. */
async function* linesOf(path: string): AsyncGenerator<[number: number, line: string | undefined]> {
  // A character a byte, so that each line's bytes can be checked. A faulty one would otherwise be stored as U+FFFD.
  const input = createReadStream(path, 'latin1')
  let number = 0
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number++
      yield [number, utf8Text(Buffer.from(line, 'latin1'))]
    }
  } catch (error) {
    throw new CliError('usage', `Can't read --file: ${(error as Error).message}`)
  } finally {
    input.destroy()
  }
}

/**
 * Reads a file without keeping it.
 *
 * @returns how many entries it has.
 * @throws CliError that names the faulty lines.
 */
export async function checkFile({ path, isChannel }: CsvFile): Promise<number> {
  const checked = await checkCsv(linesOf(path), isChannel)
  if ('entries' in checked) return checked.entries
  const more = checked.more > 0 ? `; and ${checked.more} more lines` : ''
  throw new CliError('usage', `Nothing was imported; fix --file: ${checked.faults.join('; ')}${more}`)
}

/** The entries of a file that was checked. @param onPage called with how many were read. */
export async function* pagesOf(
  { path, isChannel }: CsvFile,
  onPage: (read: number) => void,
): AsyncGenerator<CsvEntry[]> {
  const changed = (number: number): never => {
    throw new CliError('failed', `--file was changed meanwhile, at line ${number}; run the import again`)
  }
  let read = 0
  for await (const page of entriesOfCsv(linesOf(path), isChannel, pageSize, changed)) {
    yield page
    read += page.length
    onPage(read)
  }
}

/** The lines of entries. One whose contact was erased has none. */
export const csvLines = (entries: readonly Suppression[]): string[] =>
  entries.flatMap(({ contactType: type, contactValue: value, channelId, reason }) =>
    value === null ? [] : csvLine({ contact: { type, value }, channelId, reason }),
  )
