import { z } from 'zod'
import { ceilingsIssue, ceilingText, parseCeiling } from '../../core/accounts/ceiling.ts'
import { roles } from '../../core/accounts/person.ts'
import { eventTypes } from '../../core/callbacks/callback.ts'
import { parseQuietZone } from '../../core/channels/quiet-hours.ts'
import { fallbackCauses } from '../../core/sends/fallback.ts'
import { orderings } from '../../core/sends/lane.ts'
import { onUncertainWords } from '../../core/sends/outcome.ts'
import { priorities } from '../../core/sends/priority.ts'
import { autoCauses } from '../../core/suppression/suppression.ts'
import { displayName } from '../../core/typed/display-name.ts'
import { ceilingList, countryList, quietHours, quietZone } from '../../core/typed/lists.ts'
import { personName, templateName } from '../../core/typed/names.ts'
import { callRate, rateLimit } from '../../core/typed/numbers.ts'
import { TypedFault } from '../../core/typed/typed-fault.ts'

/** A text that a command's option takes, too: with the same rule and the same words. */
const typed = (parse: (text: string) => unknown) =>
  z.string().superRefine((text, context) => {
    try {
      parse(text)
    } catch (error) {
      if (!(error instanceof TypedFault)) throw error
      context.addIssue({ code: 'custom', message: error.message })
    }
  })

const never = (text: string) => text !== 'none'
const wholeNumber = z.int().min(1).max(2_147_483_647)
const sorted = <Item extends string>(items: Item[]): Item[] => [...new Set(items)].sort()

/** Names that stand once. */
const unique =
  <Item>(what: string, nameOf: (item: Item) => string) =>
  (items: Item[], context: z.core.$RefinementCtx<Item[]>) => {
    const seen = new Set<string>()
    items.forEach((item, index) => {
      const name = nameOf(item)
      if (seen.has(name))
        context.addIssue({ code: 'custom', path: [index], message: `${what} ${name} is there twice` })
      seen.add(name)
    })
  }

/** A secret that stands elsewhere: an environment variable, or a file. */
export const reference = z.union([
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ file: z.string().min(1) }),
])
export type Reference = z.output<typeof reference>
export const isReference = (value: unknown): value is Reference => reference.safeParse(value).success

const hours = z
  .strictObject({
    hours: typed(quietHours).refine(never, 'use null for none'),
    zone: typed(quietZone)
      .default('contact,UTC')
      .transform((text) => zoneText(parseQuietZone(text))),
    for: z.array(z.enum(priorities)).min(1).default(['normal', 'bulk']).transform(sorted),
  })
  .nullable()

/** As a command takes it, and always in full. */
export const zoneText = (zone: { byContact?: boolean; zone?: string } = {}): string =>
  [...(zone.byContact ? ['contact'] : []), zone.zone ?? 'UTC'].join(',')

const fallback = z
  .strictObject({
    channel: z.string().describe('The name of another channel of the account.'),
    on: z.union([z.literal('all'), z.array(z.enum(fallbackCauses)).min(1).transform(sorted)]).default('all'),
    within: wholeNumber.default(3600),
  })
  .nullable()

const ceilings = z
  .array(typed(ceilingList).refine(never, 'use an empty list for none'))
  .superRefine((texts, context) => {
    const given = texts.map((text) => parseCeiling(text)).filter((ceiling) => ceiling !== undefined)
    const issue = ceilingsIssue(given)
    if (issue) context.addIssue({ code: 'custom', message: issue })
  })
  .transform((texts) =>
    texts
      .map((text) => parseCeiling(text))
      .flatMap((one) => (one ? [ceilingText(one)] : []))
      .sort(),
  )

const channel = z.strictObject({
  name: typed(displayName),
  provider: z.string(),
  config: z.record(z.string(), z.unknown()).optional(),
  onUncertain: z.enum(onUncertainWords).optional(),
  ordering: z.enum(orderings).optional(),
  expireAfter: wholeNumber.nullable().optional(),
  rate: typed(callRate).refine(never, 'use null for none').nullable().optional(),
  maxInFlight: wholeNumber.nullable().optional(),
  ceilings: ceilings.optional(),
  autoSuppress: z.union([z.literal('all'), z.array(z.enum(autoCauses)).transform(sorted)]).optional(),
  countries: z
    .array(typed(countryList).refine(never, 'use null for all countries'))
    .min(1)
    .transform((codes) => sorted(codes.map((code) => code.toUpperCase())))
    .nullable()
    .optional(),
  quietHours: hours.optional(),
  oneClick: z.boolean().optional(),
  fallback: fallback.optional(),
  templates: z.record(typed(templateName), z.record(z.string(), z.unknown())).optional(),
})

const endpoint = z.strictObject({
  url: z.string(),
  events: z.array(z.enum(eventTypes)).min(1).transform(sorted).nullable().default(null),
})

const account = z.strictObject({
  name: typed(displayName),
  rateLimit: typed(rateLimit).nullable().optional(),
  ceilings: ceilings.optional(),
  channels: z
    .array(channel)
    .superRefine(unique('the channel', ({ name }) => name))
    .optional(),
  flows: z
    .array(typed(displayName))
    .superRefine(unique('the flow', (name) => name))
    .optional(),
  endpoints: z
    .array(endpoint)
    .superRefine(unique('the endpoint', ({ url }) => url))
    .optional(),
})

const person = z.strictObject({
  name: typed(personName),
  role: z.enum(roles),
  password: reference.optional(),
})

/** An installation as a file (docs/reference/installation-file.md). */
export const installationForm = z.strictObject({
  providers: z.record(z.string(), z.string()).optional(),
  accounts: z
    .array(account)
    .superRefine(unique('the account', ({ name }) => name))
    .optional(),
  people: z
    .array(person)
    .superRefine(unique('the person', ({ name }) => name.toLowerCase()))
    .optional(),
})

export type InstallationFile = z.output<typeof installationForm>
export type AccountInFile = z.output<typeof account>
export type ChannelInFile = z.output<typeof channel>

export const maxInstallationBytes = 16 * 1024 * 1024

/** `accounts[0].channels[3].provider` */
export const pathText = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index > 0 ? '.' : ''}${String(part)}`))
    .join('')
