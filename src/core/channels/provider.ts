import type { z } from 'zod'
import type { ContactType } from '../contacts/contact.ts'
import type { MailFields } from '../messages/mail.ts'
import type { MediaType, MessageType, TemplateVariable } from '../messages/message.ts'
import type { ReceiptRules } from '../receipts/receipt.ts'
import type { Failure, Fault, OnUncertain, ProviderAnswer } from '../sends/outcome.ts'
import type { SuppressingCodes } from '../suppression/suppression.ts'

/** The rules for a provider's templates, registered or not. */
export interface TemplateRules {
  /** Schema of the definition given to `template set`; strict. */
  definition: z.ZodType
  /** The keys of the variables that a send has to give, no more and no less. */
  variablesOf(definition: object): string[]
  /** The text that the template becomes. Without it, only the provider knows the text. */
  textOf?(definition: object, variables: readonly TemplateVariable[]): string | undefined
  /** Why an unregistered template can't be sent by its name; undefined if it can. */
  unregisteredIssue?(name: string): string | undefined
  /** Why an unregistered template can't have a variable of this key; undefined if it can. */
  unregisteredKeyIssue?(key: string): string | undefined
  /** Why a variable can't have this value; undefined if it can. Without a definition, the template is unregistered. */
  valueIssue?(variable: TemplateVariable, definition: object | undefined): string | undefined
  /** Why the message that the template becomes can't be sent; undefined if it can. The variables have no other issue. */
  filledIssue?(definition: object, variables: readonly TemplateVariable[]): string | undefined
}

/** A provider's limits for one media type. */
export interface MediaLimits {
  /** Accepted types, without parameters, in lower case. Default: any. */
  mimetypes?: readonly string[]
  /** Accepted types of content sent as base64, if they are fewer. */
  base64Mimetypes?: readonly string[]
  /** Limit of content sent as base64. Default: the API's own. */
  maxBytes?: number
  /** Whether a caption is possible. */
  hasCaption: boolean
  /** Why this filename can't be sent, such as because the provider would drop it; undefined if it can. */
  filenameIssue?(filename: string): string | undefined
}

/** The decision of a provider's code alone. `uncertain`: an earlier attempt may have got through. */
export type CodeDecision = Failure | { outcome: 'uncertain'; fault: Fault }

/** The rules that may be narrower, or wider, for a channel than for its provider in general. */
export type ChannelLimits = Partial<
  Pick<ProviderRules, 'messageTypes' | 'maxTextCharacters' | 'media' | 'sendsSms'>
>

/**
 * A provider's rules that can be checked without calling it: when a channel is created, and when a send is accepted.
 */
export interface ProviderRules<Config = object> {
  contactTypes: readonly ContactType[]
  messageTypes: readonly MessageType[]
  maxTextCharacters: number
  /** A text to a phone goes as SMS, which is billed by its segments (src/core/messages/segments.ts). */
  sendsSms?: boolean
  /** Default: only the API's own limits. */
  media?: Record<MediaType, MediaLimits>
  /** Set if it takes the fields of a mail (`email`). Otherwise they are refused. */
  mail?: {
    /** Why the provider can't take it, with the field's path; undefined if it can. */
    issueOf?(fields: MailFields): string | undefined
  }
  /** The limits of a channel with this config, where they differ from the provider's: for example by the way in which it sends. */
  limitsOf?(config: Config): ChannelLimits
  /**
   * The provider fetches base64 media from this service by a link, which needs `PUBLIC_BASE_URL`. It relies on the content type
   * of that response, so the type has to be known.
   */
  fetchesMedia?: true
  /** Whether a call that may or may not have gone through is repeated; a channel can override it. */
  onUncertain: OnUncertain
  template: TemplateRules
  /** Delays in seconds before the second, third, … attempt, of a channel with this config; undefined: those of the settings. */
  retryDelaysOf?(config: Config): readonly number[] | undefined
  /** The meaning of a failed answer, by its code or else its status: a clause for support staff. */
  meaningOf(answer: ProviderAnswer): string | undefined
  /** The outcome of a call with this code; undefined for a code that decides nothing alone. For people who look a code up. */
  failureOf?(code: string): CodeDecision | undefined
  /** The codes of answers and receipts after which a contact is suppressed. */
  suppressingCodes?: SuppressingCodes
  /** How its receipts come by HTTP. Without it, a channel takes none. */
  receipts?: ReceiptRules<Config>
  /** Fields of its config that hold no secret, beside those that no provider has as a secret (shown-config.ts). */
  shownFields?: readonly string[]
  /** Strict: an unknown field is an error. The output is sealed and stored. */
  config: z.ZodType<Config>
}
