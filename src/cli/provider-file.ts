import { readFileSync } from 'node:fs'
import { type CheckResult, checkFile } from '../providers/files/check/check-file.ts'
import { CliError } from './answer.ts'

/** A file that keeps the contract of all providers. @throws CliError with what is wrong with it. */
export async function checkedFile(content: string): Promise<Exclude<CheckResult, { issues: string[] }>> {
  const result = await checkFile(content)
  if (!('issues' in result)) return result
  throw new CliError(
    'usage',
    `Fix the file: ${result.issues.slice(0, maxShown).join('; ')}${more(result.issues)}`,
  )
}

const maxShown = 10
const more = ({ length }: readonly string[]) =>
  length > maxShown ? `; and ${length - maxShown} more faults` : ''

export function readText(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (error) {
    if (error instanceof TypeError) throw new CliError('usage', `--file: ${path} is not UTF-8; convert it`)
    const { code } = error as NodeJS.ErrnoException
    throw new CliError('usage', `--file: can't read ${path} (${code}); check that it is there and readable`)
  }
}
