import type { Context } from 'hono'
import { TypedFault } from '../../core/typed/typed-fault.ts'
import { PageError } from '../errors.tsx'

/** What was typed into the fields of a form, without blanks at its ends. A field with several boxes has the ticked ones, with commas. */
export type Typed = Readonly<Record<string, string | undefined>>

/** What is wrong with fields, by their names. */
export type FieldIssues = Readonly<Record<string, string>>

export async function typedIn(c: Context): Promise<Typed> {
  const body = await c.req.parseBody({ all: true }).catch(() => {
    throw new PageError(400, 'This form could not be read. Open the page again and submit it once more.')
  })
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      [value]
        .flat()
        .filter((part) => typeof part === 'string')
        .join(',')
        .replaceAll('\r\n', '\n')
        .trim(),
    ]),
  )
}

type Parsers = Readonly<Record<string, (text: string) => unknown>>

/** Parses the fields of a form, with the words of the command's options. `issues` has each that can't be used. */
export function parseTyped<const All extends Parsers>(
  typed: Typed,
  parsers: All,
): { values: { [Name in keyof All]: ReturnType<All[Name]> } } | { issues: FieldIssues } {
  const values: Record<string, unknown> = {}
  const issues: Record<string, string> = {}
  for (const [name, parse] of Object.entries(parsers)) {
    try {
      values[name] = parse(typed[name] ?? '')
    } catch (error) {
      if (!(error instanceof TypedFault)) throw error
      issues[name] = error.message
    }
  }
  if (Object.keys(issues).length > 0) return { issues }
  return { values: values as { [Name in keyof All]: ReturnType<All[Name]> } }
}

/** A field that may stay empty. */
export const orEmpty =
  <Value>(parse: (text: string) => Value) =>
  (text: string): Value | undefined =>
    text === '' ? undefined : parse(text)
