import type {
  ReadReceipts,
  Receipt,
  ReceiptKind,
  ReceiptRequest,
  ReceiptRules,
} from '../../../core/receipts/receipt.ts'
import {
  contentTypeOf,
  fieldsOf,
  itemsOf,
  jsonOf,
  parseJson,
} from '../../../core/receipts/receipt-request.ts'
import { type CodeTable, meaningIn } from '../../shared/code-table.ts'
import type { ReceiptsForm } from '../form/receipts.ts'
import type { ProviderForm } from '../form.ts'
import type { FileConfig } from '../request/holes.ts'
import { isCode } from './answer.ts'
import { atPointer, costIn, firstWordAt, holds, type Places, wordsAt } from './places.ts'
import { compileProof, fieldsOfProof, momentMs } from './proofs.ts'

const maxPerBody = 1000
/** More would be read for a caller whose proof isn't checked yet. */
const maxFormFields = 1000

/** The words of the vendor, each with its meaning. A word that stands twice is reported. */
export function wordsOf(
  { statuses, ignored = [] }: Pick<ReceiptsForm, 'statuses' | 'ignored'>,
  issue: (path: string, message: string) => void = () => {},
): Record<string, ReceiptKind> {
  const words: Record<string, ReceiptKind> = {}
  for (const [kind, list = []] of Object.entries(statuses)) {
    for (const [index, word] of list.entries()) {
      if (Object.hasOwn(words, word) || ignored.includes(word))
        issue(`/receipts/statuses/${kind}/${index}`, `${word} stands twice`)
      words[word] = kind as ReceiptKind
    }
  }
  return words
}

/** How a file's receipts are proven and read. */
export function compileReceipts(
  form: ProviderForm,
  receipts: ReceiptsForm,
  { codes, usesReceiptsUrl }: { codes: CodeTable; usesReceiptsUrl: boolean },
  issue: (path: string, message: string) => void,
): ReceiptRules<FileConfig> {
  const words = wordsOf(receipts, issue)
  const proof = compileProof(form, receipts.proof, issue)
  const needed = fieldsOfProof(receipts.proof)
  const read = readBy(form, receipts, words, codes)
  if (!receipts.request && !(form.answer.id && receipts.id))
    issue('/receipts', 'without request, the send is found by id: answer and receipts need it')
  return {
    words,
    areForEach: receipts.forEach,
    needPublicUrl: usesReceiptsUrl,
    ...(receipts.by === 'GET' && { byGet: true }),
    ...(!receipts.request && { foundById: true }),
    areOn: (config) => needed.every((name) => config[name] !== undefined),
    isProven(request, config) {
      const fields = fieldsIn(request, receipts)
      return proof(request, placesOf(request, fields), config)
    },
    read(request) {
      const fields = fieldsIn(request, receipts)
      if (fields === undefined)
        return {
          issue: `body: has to be ${receipts.jsonIn ? `a form with JSON in ${receipts.jsonIn}` : receipts.body === 'form' ? 'a form' : 'JSON'}`,
        }
      const list = listIn(fields, receipts)
      if (list.length > maxPerBody) return { issue: `body: at most ${maxPerBody} receipts` }
      const found: ReadReceipts = { receipts: [], unexpected: 0, unreadable: 0 }
      for (const item of list) read(placesOf(request, item), found)
      if (list.length === 0) found.unexpected++
      return found
    },
  }
}

const placesOf = (request: ReceiptRequest, fields: unknown): Places => ({
  fields,
  headers: request.headers,
  query: new URLSearchParams(request.target.split('?')[1]),
})

/** The fields of a request; undefined if it has another form. */
function fieldsIn(request: ReceiptRequest, { body, jsonIn }: ReceiptsForm): unknown {
  if (body === 'query') return Object.fromEntries(new URLSearchParams(request.target.split('?')[1]))
  if (body === 'json') {
    const json = jsonOf(request)
    return typeof json === 'object' && json !== null ? json : undefined
  }
  if (contentTypeOf(request) !== 'application/x-www-form-urlencoded') return undefined
  const text = request.body.toString()
  if (text.split('&', maxFormFields + 1).length > maxFormFields) return undefined
  const form = new URLSearchParams(text)
  if (jsonIn === undefined) return Object.fromEntries(form)
  const json = parseJson(form.get(jsonIn) ?? '')
  return typeof json === 'object' && json !== null ? json : undefined
}

function listIn(fields: unknown, { list, inner }: ReceiptsForm): unknown[] {
  const at = list === undefined ? fields : atPointer(fields, list)
  const items = list === undefined || !Array.isArray(at) ? (at === undefined ? [] : [at]) : itemsOf(at)
  if (inner === undefined) return items
  return items.flatMap((item) =>
    itemsOf(atPointer(item, inner)).map((one) => ({ ...fieldsOf(item), ...fieldsOf(one) })),
  )
}

function readBy(
  { label, answer: _ }: ProviderForm,
  receipts: ReceiptsForm,
  words: Record<string, ReceiptKind>,
  codes: CodeTable,
): (places: Places, found: ReadReceipts) => void {
  return (places, found) => {
    const given = wordsAt(receipts.status, places)
    const status = given.find((word) => Object.hasOwn(words, word))
    const usual = status === undefined ? undefined : words[status]
    if (status === undefined || usual === undefined) {
      if (given.some((word) => receipts.ignored?.includes(word)) || given.length > 0) found.unexpected++
      else found.unreadable++
      return
    }
    const exception = receipts.except?.find((one) => one.status === status && holds(one, places))
    found.receipts.push(receiptOf(status, exception?.means ?? usual, places))
  }

  function receiptOf(status: string, kind: ReceiptKind, places: Places): Receipt {
    const given = wordsAt(receipts.code, places).filter(isCode)
    const isKnown = (code: string) => meaningIn(code, codes, receipts.codes) !== undefined
    const providerCode = given.find(isKnown) ?? given[0] ?? null
    const atMs = momentMs(firstWordAt(receipts.at, places))
    const cost = costIn(receipts, places)
    const reason = meaningIn(providerCode, codes, receipts.codes) ?? `${label} could not deliver it`
    return {
      requestId: firstWordAt(receipts.request, places) ?? '',
      kind,
      providerStatus: status,
      providerAt: atMs === undefined ? null : new Date(atMs).toISOString(),
      providerCode,
      providerMessageId: firstWordAt(receipts.id, places) ?? null,
      ...(cost && { cost }),
      ...(kind === 'undelivered' && { reason }),
    }
  }
}
