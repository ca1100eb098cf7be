import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Database } from '../../db/client.ts'
import { listSuppressions, type Suppression } from '../../db/suppression/entries.ts'
import { type CsvEntry, csvHeader, csvLine, readCsvLine } from '../core/suppression-csv.ts'
import { CliError } from './answer.ts'

const pageSize = 5000
const maxFaults = 10

interface CsvFile {
  path: string
  /** Whether the account has a channel with this id. */
  isChannel: (id: string) => boolean
}

/** Its lines by their numbers, from 1, without empty ones. */
async function* linesOf(path: string): AsyncGenerator<[number: number, line: string]> {
  const input = createReadStream(path, 'utf8')
  let number = 0
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number++
      const text = number === 1 ? line.replace(/^\ufeff/, '') : line
      if (text.trim() !== '' || number === 1) yield [number, text]
    }
  } catch (error) {
    throw new CliError(`Can't read --file: ${(error as Error).message}`)
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
  const faults: string[] = []
  let entries = 0
  let faulty = 0
  for await (const [number, line] of linesOf(path)) {
    const issue = number === 1 ? headerIssue(line) : issueIn(readCsvLine(line, isChannel))
    if (number > 1) entries++
    if (issue === undefined) continue
    faulty++
    if (faults.length < maxFaults) faults.push(`line ${number}: ${issue}`)
    if (number === 1) break
  }
  if (entries === 0 && faulty === 0)
    throw new CliError(`--file has no entries; its line 1 is ${csvHeader}, then one line each`)
  if (faulty === 0) return entries
  const more = faulty > faults.length ? `; and ${faulty - faults.length} more lines` : ''
  throw new CliError(`Nothing was imported; fix these lines of --file: ${faults.join('; ')}${more}`)
}

const headerIssue = (line: string) => (line.trim() === csvHeader ? undefined : `has to be ${csvHeader}`)
const issueIn = (read: ReturnType<typeof readCsvLine>) => ('issue' in read ? read.issue : undefined)

/** The entries of a file that was checked. @param onPage called with how many were read. */
export async function* pagesOf(
  { path, isChannel }: CsvFile,
  onPage: (read: number) => void,
): AsyncGenerator<CsvEntry[]> {
  let page: CsvEntry[] = []
  let read = 0
  for await (const [number, line] of linesOf(path)) {
    if (number === 1) continue
    const entry = readCsvLine(line, isChannel)
    if ('issue' in entry)
      throw new CliError(`--file was changed meanwhile, at line ${number}; run the import again`)
    page.push(entry)
    if (page.length < pageSize) continue
    yield page
    read += page.length
    onPage(read)
    page = []
  }
  if (page.length > 0) yield page
}

/** All entries of an account, page by page. */
export async function* allEntries(db: Database, accountId: string): AsyncGenerator<Suppression[]> {
  for (let after: string | undefined; ; ) {
    const page = await listSuppressions(db, accountId, { after, limit: pageSize })
    if (page.length === 0) return
    yield page
    after = page.at(-1)?.suppressionId
  }
}

/** The lines of entries. One whose contact was erased has none. */
export const csvLines = (entries: readonly Suppression[]): string[] =>
  entries.flatMap(({ contactType: type, contactValue: value, channelId, reason }) =>
    value === null ? [] : csvLine({ contact: { type, value }, channelId, reason }),
  )
