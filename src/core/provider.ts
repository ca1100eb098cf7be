import type { z } from 'zod'
import type { ContactType } from './contact.ts'
import type { MediaType, MessageType, TemplateVariable } from './message.ts'
import type { OnUncertain, ProviderAnswer } from './outcome.ts'

/** How a provider's templates are registered with a channel. */
export interface TemplateRules {
  /** What `template set` takes; strict. */
  definition: z.ZodType
  /** The variables that a send of it has to give, no more and no less. */
  variablesOf(definition: object): string[]
  /** Why a template that isn't registered can't be sent by its name; undefined where it can. */
  unregisteredFault?(name: string): string | undefined
  /** Why a template that isn't registered can't have a variable of this key; undefined where it can. */
  unregisteredKeyFault?(key: string): string | undefined
  /** Why a variable can't have this value; undefined where it can. Without a definition, the template isn't registered. */
  valueFault?(variable: TemplateVariable, definition: object | undefined): string | undefined
}

/** What a provider takes of one media type. */
export interface MediaLimits {
  /** Without parameters, in lower case; undefined: any. */
  mimetypes?: readonly string[]
  /** Of content that comes as base64, where that is narrower. */
  base64Mimetypes?: readonly string[]
  /** Of content that comes as base64; undefined: as much as the API takes. */
  maxBytes?: number
  /** Whether a caption goes with it. */
  hasCaption: boolean
}

/**
 * What a provider takes, as far as it can be told without calling it: checked when a channel is created and when a
 * send is accepted. How it sends stands in workers/providers/, in a file of the same name.
 */
export interface ProviderRules {
  contactTypes: readonly ContactType[]
  messageTypes: readonly MessageType[]
  maxTextCharacters: number
  /** Undefined: all that the API takes. */
  media?: Record<MediaType, MediaLimits>
  /**
   * It fetches base64 media from this service by a link, so there has to be a `PUBLIC_BASE_URL`. It goes by the type of
   * what it fetches, so that one has to be known.
   */
  fetchesMedia?: true
  /** Whether a call that may or may not have gone through is made again; a channel can override it. */
  onUncertain: OnUncertain
  template: TemplateRules
  /** What an answer that is no success means, by its code or else its status: a clause for people. */
  meaningOf(answer: ProviderAnswer): string | undefined
  /** Strict: an unknown field is a fault. Its output is sealed and stored. */
  config: z.ZodType
}
