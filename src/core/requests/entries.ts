import { z } from 'zod'

interface EntriesForm {
  most: number
  /** The whole of a name. */
  names: RegExp
  /** The form of a name, for people. */
  namesAre: string
  values: z.ZodType<string>
  description: string
}

/**
 * An object whose names the client chooses. Sorted by them, so that two requests with the same entries have the same fingerprint. Such a name is
 * a text of the client like a value, so the log leaves it out (`describeIssues`).
 */
export const entries = ({ most, names, namesAre, values, description }: EntriesForm) =>
  z
    .unknown()
    .transform((given, context): Record<string, string> => {
      const refuse = (message: string, path: string[] = []) =>
        context.addIssue({ code: 'custom', message, path, params: { isNamedByClient: path.length > 0 } })
      if (typeof given !== 'object' || given === null || Array.isArray(given)) {
        refuse('has to be an object')
        return z.NEVER
      }
      const pairs = Object.entries(given).sort(([one], [other]) => (one < other ? -1 : 1))
      if (pairs.length > most) refuse(`at most ${most} entries`)
      const isNamed = ([name]: [string, unknown]) => names.test(name)
      if (!pairs.every(isNamed)) refuse(`each name has to be ${namesAre}`)
      for (const [name, value] of pairs.slice(0, most).filter(isNamed)) {
        const message = values.safeParse(value).error?.issues[0]?.message
        if (message) refuse(message, [name])
      }
      // An assignment would take a name such as __proto__ for something else.
      return Object.fromEntries(pairs) as Record<string, string>
    })
    .meta({
      ...formOf(values),
      type: 'object',
      maxProperties: most,
      propertyNames: { pattern: names.source },
      description,
    })

const formOf = (values: z.ZodType) => {
  const { $schema: _, ...additionalProperties } = z.toJSONSchema(values, { io: 'input' })
  return { additionalProperties }
}
