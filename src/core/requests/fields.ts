import { z } from 'zod'
import { isLongerThan, isStorable } from './characters.ts'

// `meta` adds to the OpenAPI document what zod can't derive from a `refine`.
export const string = z
  .string()
  .refine(isStorable, 'contains NUL or half a surrogate pair')
  .meta({ pattern: String.raw`^[^\u0000\ud800-\udfff]*$` })

/** Text of any form; lengths are in code points. */
export const characters = (min: number, max: number) =>
  string
    .refine((text) => text.length >= min, { error: min === 1 ? 'is empty' : `at least ${min} characters` })
    .refine((text) => !isLongerThan(text, max), { error: `at most ${max} characters` })
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max })

/** Text without line breaks and other control characters, for texts that may get into a header or a list. */
export const singleLine = (min: number, max: number) =>
  characters(min, max)
    .refine((text) => !/\p{Cc}/u.test(text), 'contains a control character')
    .meta({ pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]*$` })

/** `null` counts as absent. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined)

/**
 * For checks of a whole object. zod would skip them if a field has an issue, and a client would learn of its issues one at a time.
 * The check has to cope with fields that are missing or have another type.
 */
export const besideOtherIssues = {
  when: ({ value }: { value: unknown }) =>
    typeof value === 'object' && value !== null && !Array.isArray(value),
}

/** An enum whose description lists the meaning of each value. */
export const choice = <Word extends string>(what: string, meanings: Record<Word, string>) => {
  const list = Object.entries(meanings).map(([word, meaning]) => `- \`${word}\`: ${meaning}`)
  return z.enum(Object.keys(meanings) as Word[]).describe(`${what}.\n\n${list.join('\n')}`)
}

export const moment = z.string().meta({ format: 'date-time' })
