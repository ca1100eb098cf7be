import type { Receipt, ReceiptRequest } from '../../../core/receipts/receipt.ts'
import type { HttpAnswer, HttpCall } from '../../shared/http/http-call.ts'
import { outcomeOfAnswer } from '../../shared/http/outcome-of-answer.ts'
import { type CompiledFile, compileFile } from '../compile.ts'
import type { ReceiptExample } from '../form/examples.ts'
import { answerWithCode } from './answer-with-code.ts'
import { checkContext } from './context.ts'
import { requestFaults, sendExampleFaults } from './requests.ts'
import { sampleMessages } from './sample-messages.ts'

/** The result of a check: what was tried, or each fault on one line that says where. */
export type CheckResult = { issues: string[] } | { file: CompiledFile; checked: Checked }
export interface Checked {
  messages: number
  examples: number
  codes: number
}

/**
 * Holds a file to the contract of all providers: every message that its rules allow becomes a request of the right structure, every
 * example comes out as it says, every code decides what its table says, and no answer and no receipt makes it throw.
 */
export async function checkFile(text: string): Promise<CheckResult> {
  const file = compileFile(text)
  if ('issues' in file) return file
  const { form, provider } = file
  const parsed = provider.config.safeParse(form.examples.config)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    return { issues: [`/examples/config/${issue?.path.join('/')}: ${issue?.message}`] }
  }
  const messages = sampleMessages(provider, parsed.data)
  const issues = [
    ...requestFaults(file, messages),
    ...form.examples.sends.flatMap((example, index) =>
      sendExampleFaults(file, example, `/examples/sends/${index}`),
    ),
    ...codeFaults(file),
    ...unknownAnswerFaults(file, parsed.data),
    ...(await receiptFaults(file)),
  ]
  if (issues.length > 0) return { issues: [...new Set(issues)] }
  return {
    file,
    checked: {
      messages: messages.length,
      examples: form.examples.sends.length + (form.examples.receipts?.length ?? 0),
      codes: Object.keys(provider.codes ?? {}).length,
    },
  }
}

/** Each code of the table, in an answer at its place, decides what the table says. */
function codeFaults({ form, provider }: CompiledFile): string[] {
  const codes = Object.entries(provider.codes ?? {})
  if (codes.length > 0 && !form.answer.code) return ['/answer/code: required, as there are codes']
  return codes.flatMap(([code, known]) => {
    const answer = answerWithCode(form, code)
    const { outcome } = outcomeOfAnswer(answer, rulesOf(provider), {})
    return outcome === known.outcome
      ? []
      : [`/answer/codes: ${code} is not read at ${JSON.stringify(form.answer.code)}`]
  })
}

const rulesOf = ({ call, codes }: CompiledFile['provider']) => ({
  call: call as HttpCall<Record<string, string>>,
  codes,
})

const oddBodies = [
  '',
  'null',
  '[]',
  '{}',
  '"x"',
  '<html>',
  '{"',
  '7',
  '{"__proto__":1}',
  `[${'['.repeat(100)}`,
]

function unknownAnswerFaults({ form, provider }: CompiledFile, config: Record<string, string>): string[] {
  const statuses = [200, 202, 302, 400, 401, 404, 418, 422, 429, 500, 503, 599]
  return statuses.flatMap((status) =>
    oddBodies.flatMap((body) => {
      const answer: HttpAnswer = { kind: 'answer', status, headers: {}, body, isWhole: true, at: 0 }
      const outcome = outcomeOfAnswer(answer, rulesOf(provider), config)
      const wanted =
        status < 300 && !form.answer.refused ? outcome.outcome === 'sent' : outcome.outcome !== 'sent'
      return wanted ? [] : [`/answer: ${status} with ${body || 'an empty body'} counts as ${outcome.outcome}`]
    }),
  )
}

async function receiptFaults(file: CompiledFile): Promise<string[]> {
  const { form, provider } = file
  const examples = form.examples.receipts ?? []
  if (!form.receipts) return examples.length > 0 ? ['/examples/receipts: there are no receipts'] : []
  if (examples.length === 0) return ['/examples/receipts: give at least one request of the vendor']
  const seen = new Set<string>()
  const faults: string[] = []
  for (const [index, example] of examples.entries()) {
    const path = `/examples/receipts/${index}`
    const config = provider.config.safeParse({ ...form.examples.config, ...example.config })
    if (!config.success) {
      faults.push(`${path}/config: ${config.error.issues[0]?.message}`)
      continue
    }
    const request = requestOf(file, example)
    if (!provider.receipts?.areOn(config.data))
      faults.push(`${path}: the config of the examples turns no receipts on`)
    const isProven = provider.receipts?.isProven(request, config.data)
    if (example.proven !== undefined && isProven !== example.proven)
      faults.push(`${path}/proven: the proof is ${isProven ? 'right' : 'wrong'}`)
    const read = await provider.receipts?.read(request, config.data)
    const receipts: Receipt[] = read && 'receipts' in read ? read.receipts : []
    for (const { kind } of receipts) seen.add(kind)
    const found = receipts.map((receipt, at) => shown(receipt, example.receipts[at]))
    if (JSON.stringify(found) !== JSON.stringify(example.receipts.map(sorted)))
      faults.push(`${path}/receipts: the request has ${JSON.stringify(found)}`)
  }
  for (const kind of Object.keys(form.receipts.statuses))
    if (!seen.has(kind)) faults.push(`/examples/receipts: no example means ${kind}`)
  return faults
}

/** The fields of a receipt that the example names. */
function shown(receipt: Receipt, wanted: ReceiptExample['receipts'][number] | undefined): object {
  const all = {
    requestId: receipt.requestId,
    means: receipt.kind,
    status: receipt.providerStatus,
    code: receipt.providerCode,
    id: receipt.providerMessageId,
    at: receipt.providerAt,
    cost: receipt.cost,
  }
  return sorted(
    Object.fromEntries(Object.entries(all).filter(([name]) => name in (wanted ?? { means: true }))),
  )
}

const sorted = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1)))

/** The request of an example. */
export function requestOf(
  { form }: CompiledFile,
  { headers = {}, query = {}, body, atSeconds }: ReceiptExample,
): ReceiptRequest {
  const isForm = form.receipts?.body === 'form'
  const text =
    body === undefined
      ? ''
      : typeof body === 'string'
        ? body
        : isForm
          ? new URLSearchParams(body as Record<string, string>).toString()
          : JSON.stringify(body)
  const search = new URLSearchParams(query).toString()
  return {
    headers: {
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    },
    target: `/receipts/${checkContext.channelId}${search && `?${search}`}`,
    body: Buffer.from(text),
    publicBaseUrl: checkContext.publicBaseUrl,
    nowMs: (atSeconds ?? checkContext.nowSeconds) * 1000,
  }
}
