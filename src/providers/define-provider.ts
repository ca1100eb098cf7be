import type { z } from 'zod'
import type { ChannelLimits, ProviderRules } from '../core/channels/provider.ts'
import { meaningOfStatus } from '../core/requests/http-status.ts'
import { type CodeTable, knownCode, type MeaningTable, meaningIn } from './shared/code-table.ts'
import type { HttpCall } from './shared/http/http-call.ts'

/** A provider: the rules for its channels, and how it is called. */
export interface Provider<Config = object> extends ProviderRules<Config> {
  /** Its kinds of messages, and the vendor: for the docs. */
  what: string
  /** The limits by ways of sending, such as SMS and WhatsApp, where they differ from the others; `wayOf` tells a channel's. */
  ways?: Readonly<Record<string, ChannelLimits>>
  wayOf?(config: Config): string
  /** By HTTP; or by the worker's own sender of this name (workers/providers/index.ts). */
  call: HttpCall<Config> | 'smtp' | 'sandbox'
  /** It takes media as content only: the worker fetches what is given by a link. */
  takesContent?: true
  /** The decisions of its answers' codes. Without it, the status decides. */
  codes?: CodeTable
  /** The meanings of other codes, such as those of receipts. */
  otherCodes?: MeaningTable
}

/** By default, the tables of codes and the status say what an answer means. */
type Definition<Config> = Omit<Provider<Config>, 'meaningOf'> & Partial<Pick<Provider<Config>, 'meaningOf'>>

/** Checks a provider's parts against the type of its config. */
export function defineProvider<Schema extends z.ZodType>(
  given: Definition<z.output<Schema>> & { config: Schema },
): Provider<z.output<Schema>> & { config: Schema } {
  const { codes, otherCodes, ways, wayOf } = given
  return {
    meaningOf: ({ providerStatus, providerCode }) =>
      meaningIn(providerCode, codes, otherCodes) ?? meaningOfStatus(providerStatus),
    ...(codes && { failureOf: (code: string) => knownCode(codes, code) }),
    ...(ways && wayOf && { limitsOf: (config: z.output<Schema>) => ways[wayOf(config)] ?? {} }),
    ...given,
  }
}
