import { readFileSync } from 'node:fs'
import { isShownField } from '../core/channels/shown-config.ts'
import { CliError } from './answer.ts'

/** The descriptor of stdin; its path would not open under some supervisors. */
const stdin = 0

/**
 * Parses an option with JSON: the JSON itself, `@FILE`, or `-` for stdin. A secret belongs into a file or on stdin, because other
 * users of the machine see arguments. Throws a CliError, because commander's own error would repeat the text.
 */
export const givenJson =
  (option: string) =>
  (given: string): unknown => {
    const { from, text } = contentOf(option, given)
    try {
      return JSON.parse(text)
    } catch {
      throw new CliError('usage', `${option} is not valid JSON; check it, ${from}`)
    }
  }

/** A config, and whether it is an argument, which other users of the machine see. */
export interface GivenConfig {
  config: unknown
  isArgument: boolean
}

/** Parses `--config` as `givenJson` does. */
export function givenConfig(given: string): GivenConfig {
  return {
    config: givenJson('--config')(given),
    isArgument: given !== '-' && !given.startsWith('@'),
  }
}

/**
 * Says that others may have seen a config with a secret.
 *
 * @param shownFields fields of its provider that hold no secret.
 */
export function warnOfArgument(
  { config, isArgument }: GivenConfig,
  shownFields: readonly string[] | undefined,
  warn: (line: string) => void,
): void {
  if (!isArgument || typeof config !== 'object' || config === null) return
  const secret = Object.keys(config).filter((name) => !isShownField(name, shownFields))
  if (secret.length === 0) return
  warn(
    `--config was an argument, which other users of this machine and the shell's history see: give ${secret.join(', ')} as @FILE or - for stdin next time`,
  )
}

/** The text of a file or of stdin. */
export const givenText = (option: string, given: string): string => contentOf(option, given).text

function contentOf(option: string, given: string): { from: string; text: string } {
  if (given === '-') return { from: 'as it comes on stdin', text: read(option, stdin, 'stdin') }
  if (!given.startsWith('@'))
    return { from: 'and quote it for your shell, or give @FILE or - for stdin', text: given }
  const path = given.slice(1)
  if (path === '')
    throw new CliError('usage', `${option} names no file after the @; write @FILE, or - for stdin`)
  return { from: `in ${path}`, text: read(option, path, path) }
}

function read(option: string, source: string | number, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(source))
  } catch (error) {
    if (error instanceof TypeError)
      throw new CliError(
        'usage',
        `${option}: ${name} is not UTF-8; convert it, e.g. with: iconv -f WINDOWS-1252 -t UTF-8`,
      )
    throw new CliError(
      'usage',
      `${option}: can't read ${name} (${(error as NodeJS.ErrnoException).code}); check that it is there and readable`,
    )
  }
}
