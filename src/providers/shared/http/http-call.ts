import type { CodeDecision } from '../../../core/channels/provider.ts'
import type { Cost } from '../../../core/sends/cost.ts'
import type { Failure } from '../../../core/sends/outcome.ts'
import type { Delivery } from '../../delivery.ts'
import type { HttpBody } from './http-body.ts'

export interface HttpRequest {
  /** Default: POST. */
  method?: 'POST' | 'PUT' | 'GET'
  /** Valid, http or https, without user info. */
  url: string
  headers: Record<string, string>
  body: HttpBody
}

export interface HttpAnswer {
  kind: 'answer'
  status: number
  /** By lower-case name. */
  headers: Record<string, string | string[] | undefined>
  body: string
  /** Whether the whole body was received. The status counts even if it wasn't. */
  isWhole: boolean
  /** When it was received, in ms since 1970, by PostgreSQL's clock. */
  at: number
}

/** Values that a request may need beside the delivery. */
export interface CallContext {
  /** PostgreSQL's time, because this machine's may be wrong. */
  nowMs(): number
  /** A link by which the provider can fetch the send's media from this service. */
  mediaLink(requestId: string): string
  /** Where the provider is to send the receipts of the send. */
  receiptsLink(channelId: string, requestId: string): string
  /** The access token of the channel, where its provider has a grant. */
  accessToken?: string
  /** The trace of the attempt under way. */
  traceparent(): string | undefined
}

/** The parts of an answer that decide its outcome. */
export interface AnswerParts {
  /** The provider's id of the message that it accepted. */
  messageId?: string | undefined
  /** The cost of a message that it accepted. */
  cost?: Cost | undefined
  /** The provider's remark on a message that it accepted, but holds back. Stored as `providerCode`. */
  heldBackAs?: string | undefined
  /** Whether a 2xx is a refusal all the same. */
  isRefused?: true | undefined
  /** Code of a refusal. */
  code?: string | undefined
  /** Code that decides the outcome of a refusal, if it isn't `code`. */
  decidingCode?: string | undefined
  /** Outcome of a refusal whose code isn't known, if the answer itself decides. Default: the status decides. */
  failure?: CodeDecision | undefined
  /** The provider's words for the code. In a reason they stand in place of ours. */
  title?: string | undefined
  /** The provider's further words. They may repeat content or contact, so they are only in reasons that are about the channel. */
  details?: string | undefined
  /** The whole reason, in place of one made of the above. */
  reason?: string | undefined
}

/** A message for which there is no request, such as one without the text that the vendor needs. It is refused without a call. */
export interface MessageRefusal {
  outcome: 'rejected'
  fault: 'message'
  reason: string
}

/** How a provider is called by HTTP. No function does I/O or waits: workers/providers/http-sender.ts makes the call. */
export interface HttpCall<Config> {
  /** The provider's name in reasons, such as `Vonage`. */
  label: string
  /** The request that sends the message. `mediaId` is what `upload` returned. */
  request(delivery: Delivery<Config>, context: CallContext, mediaId?: string): HttpRequest | MessageRefusal
  read(answer: HttpAnswer): AnswerParts
  /** Statuses that decide otherwise here than at most providers, where no known code decides. */
  statuses?: Readonly<Record<number, Failure>>
  /** Masked in the provider's words, which may repeat them. */
  secretsOf?(config: Config): readonly (string | undefined)[]
  /** A code in a reason. Default: `with its code 42`. */
  codeInWords?(code: string): string
  /** How the access tokens of its channels are fetched, if each call needs one. */
  grant?: TokenGrant<Config>
  /** A call that uploads media, before the one that sends the message. */
  upload?: MediaUpload<Config>
}

export interface TokenGrant<Config> {
  request(config: Config): HttpRequest
  /** The token, how long it is valid, if the answer says it, and the code of a refusal. */
  read(answer: HttpAnswer): { token?: string; validMs?: number; error?: string }
}

export interface MediaUpload<Config> {
  /** Undefined if the delivery has nothing to upload. */
  request(delivery: Delivery<Config>): HttpRequest | undefined
  /** The id of the media in a successful answer. */
  mediaIdIn(answer: HttpAnswer): string | undefined
}
