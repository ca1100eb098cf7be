import type { CodeDecision } from '../../../core/channels/provider.ts'
import { parseJson } from '../../../core/receipts/receipt-request.ts'
import type { CodeTable, KnownCode } from '../../shared/code-table.ts'
import type { AnswerParts, HttpAnswer } from '../../shared/http/http-call.ts'
import { isSuccess } from '../../shared/http/status-failures.ts'
import type { OutcomesForm } from '../form/parts.ts'
import type { ProviderForm } from '../form.ts'
import { costIn, firstWordAt, holds, type Places, wordsAt } from './places.ts'

type Decided = CodeDecision & { meaning: string }

/** Codes or statuses with what they decide, one after the other. */
export function decisionsOf(outcomes: OutcomesForm): [string, Decided][] {
  return Object.entries(outcomes).flatMap(([outcome, faults]) =>
    Object.entries(faults ?? {}).flatMap(([fault, meanings]) =>
      Object.entries(meanings ?? {}).map(([code, meaning]): [string, Decided] => [
        code,
        { outcome, fault, meaning } as Decided,
      ]),
    ),
  )
}

/** The table of codes. A code that stands twice is reported. */
export function codeTable(
  { answer }: ProviderForm,
  issue: (path: string, message: string) => void,
): CodeTable {
  const { codes, waitsSeconds = {} } = answer
  const table: Record<string, KnownCode> = {}
  for (const [code, decided] of decisionsOf(codes)) {
    if (Object.hasOwn(table, code))
      issue(`/answer/codes/${decided.outcome}/${decided.fault}/${code}`, 'this code stands twice')
    const seconds = Object.hasOwn(waitsSeconds, code) ? waitsSeconds[code] : undefined
    table[code] = { ...decided, ...(seconds !== undefined && { wait: seconds * 1000 }) }
  }
  for (const code of Object.keys(waitsSeconds))
    if (!Object.hasOwn(table, code))
      issue(`/answer/waitsSeconds/${code}`, 'no code of this name: add it to codes')
  return table
}

/** A code that can't be a phone number, an address or a text of the vendor's. */
export const isCode = (word: string): boolean => /^[\w.:/-]{1,64}$/.test(word) && !/\d{8}/.test(word)

/** In a 2xx that is a refusal, without a known code. */
const refusedForGood = { outcome: 'rejected', fault: 'message' } as const
/** Of a 2xx that says only in its body whether it is a refusal, and whose body was cut off or doesn't say it. */
const unreadable = { outcome: 'uncertain', fault: 'provider' } as const

/** Reads an answer by the places of a file. */
export function readByForm({ answer }: ProviderForm, codes: CodeTable): (answer: HttpAnswer) => AnswerParts {
  const { id, code: codeAt, title: titleAt, refused = [], heldBack } = answer
  return ({ status, headers, body, isWhole }) => {
    const fields = parseJson(body)
    const places: Places = { fields, headers }
    const isAccepted = isSuccess(status)
    const needsBody = isAccepted && refused.length > 0
    if (needsBody && (!isWhole || fields === undefined))
      return {
        isRefused: true,
        failure: unreadable,
        reason: 'the answer could not be read to its end, so the message may have been accepted',
      }
    const isRefused = isAccepted && refused.some((condition) => holds(condition, places))
    const isSilent = refused.some(({ at }) => firstWordAt(at, places) === undefined)
    if (isAccepted && !isRefused && isSilent)
      return {
        isRefused: true,
        failure: unreadable,
        reason: 'the answer does not say whether the message was accepted, so it may have been',
      }
    if (isAccepted && !isRefused) {
      const held = firstWordAt(heldBack, places)
      return {
        messageId: firstWordAt(id, places),
        cost: costIn(answer, places),
        heldBackAs: held !== undefined && isCode(held) ? held : undefined,
      }
    }
    const given = wordsAt(codeAt, places).filter(isCode)
    const code = given.find((one) => Object.hasOwn(codes, one)) ?? given[0]
    const title = firstWordAt(titleAt, places)
    // A vendor's words may repeat the number or the text, so they are only for the channel's own refusals.
    return { code, details: title, ...(isRefused && { isRefused, failure: refusedForGood }) }
  }
}
