import { maskText } from '../../../core/contacts/mask-text.ts'
import type { Failure, Outcome } from '../../../core/sends/outcome.ts'
import { type CodeTable, type KnownCode, knownCode } from '../code-table.ts'
import { distinctTexts, reasonOf } from '../distinct-texts.ts'
import type { AnswerParts, HttpAnswer, HttpCall } from './http-call.ts'
import { retryWaitMs } from './retry-wait.ts'
import { failureOfStatus, failureWithoutCode, isSuccess } from './status-failures.ts'

/** The rules of a provider by which its answers are read. */
export interface AnswerRules<Config> {
  call: HttpCall<Config>
  /** Absent if the provider has none: then the status decides, even of an answer that was cut off. */
  codes?: CodeTable | undefined
}

export type Refusal = Exclude<Outcome, { outcome: 'sent' }>

/**
 * The outcome of a provider's answer. A 2xx is accepted, unless the provider's rules read a refusal in it; otherwise the code decides,
 * or else the status.
 */
export function outcomeOfAnswer<Config>(
  answer: HttpAnswer,
  rules: AnswerRules<Config>,
  config: Config,
): Outcome {
  if (!isSuccess(answer.status)) return refusalOf(answer, rules, config)
  const { messageId, heldBackAs, isRefused, cost } = rules.call.read(answer)
  if (isRefused) return refusalOf(answer, rules, config)
  return {
    outcome: 'sent',
    providerMessageId: messageId,
    providerStatus: answer.status,
    providerCode: heldBackAs,
    ...(cost && { cost }),
  }
}

/** The outcome of an answer that is a refusal. */
export function refusalOf<Config>(
  answer: HttpAnswer,
  { call, codes }: AnswerRules<Config>,
  config: Config,
): Refusal {
  const parts = call.read(answer)
  const { code, decidingCode = code } = parts
  const known = codes && knownCode(codes, decidingCode)
  const failure = known ? failureIn(known) : (parts.failure ?? failureByStatus(answer, code, { call, codes }))
  const isOfChannel = failure.outcome === 'channel_refused'
  const words = wordsOf(parts, isOfChannel, call.secretsOf?.(config))
  const reason = parts.reason ?? reasonWith(words, parts, { call, status: answer.status, known })
  const retryAfterMs = retryWaitMs(answer, known?.wait)
  const details = { retryAfterMs, providerStatus: answer.status, providerCode: code }
  return { ...failure, reason, ...details }
}

function failureIn({ meaning: _, wait: __, ...failure }: KnownCode) {
  return failure
}

function failureByStatus(
  answer: HttpAnswer,
  code: string | undefined,
  { call, codes }: Pick<AnswerRules<never>, 'call' | 'codes'>,
): Failure {
  return codes && code === undefined
    ? failureWithoutCode(answer, call.statuses)
    : failureOfStatus(answer, call.statuses)
}

/** The provider's words, without secrets. Words that may repeat content or contact are left out, unless it is about the channel. */
function wordsOf(
  { title = '', details = '' }: AnswerParts,
  isOfChannel: boolean,
  secrets: readonly (string | undefined)[] = [],
): string {
  const texts = distinctTexts(isOfChannel ? [title, details] : [title])
  return maskText(
    texts.join('; '),
    secrets.filter((secret) => secret !== undefined),
  )
}

/** Our own meaning of a known code; or, of an unknown one, how it was answered. A provider's title says more than our meaning. */
function reasonWith(
  words: string,
  { code, title }: AnswerParts,
  of: { call: Pick<HttpCall<never>, 'label' | 'codeInWords'>; status: number; known: KnownCode | undefined },
): string {
  const { call, status, known } = of
  if (known && title === undefined) return reasonOf(call.label, [known.meaning, words])
  const { label, codeInWords = (given: string) => `with its code ${given}` } = call
  const lead = `${label} answered ${status}`
  return reasonOf(code === undefined ? lead : `${lead} ${codeInWords(code)}`, [words])
}
