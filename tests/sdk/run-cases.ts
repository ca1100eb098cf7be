import { createInterface } from 'node:readline'
import * as sdk from '../../sdk/typescript/src/index.ts'

/** A call of the cases (sdk/cases): read from a line, with an `id` that its result carries. */
interface Step {
  id: number
  client?: sdk.ClientOptions
  call?: string
  list?: string
  args?: unknown[]
  query?: object
  options?: object
  verify?: { headers: Record<string, string>; body: string; secret: string | string[]; now: number }
}

type Methods = Record<string, (...args: unknown[]) => unknown>

async function run({ client, call, list, args = [], query, options = {}, verify }: Step): Promise<unknown> {
  if (verify) return await sdk.verify(verify.headers, verify.body, verify.secret, new Date(verify.now * 1000))
  const methods = new sdk.Client(client as sdk.ClientOptions) as unknown as Methods
  const result = methods[call ?? list ?? '']?.(...args, ...(query ? [query] : []), options)
  if (call !== undefined) return await result
  const items: unknown[] = []
  for await (const item of result as AsyncIterable<unknown>) items.push(item)
  return items
}

const shown = (error: unknown) =>
  error instanceof sdk.OutboundError
    ? { ...error, class: error.name, message: error.message, isApiError: error instanceof sdk.ApiError }
    : { class: String(error), isMistake: true }

for await (const line of createInterface(process.stdin)) {
  const step: Step = JSON.parse(line)
  run(step)
    .then(
      (answer) => ({ answer: answer ?? null }),
      (error) => ({ error: shown(error) }),
    )
    .then((result) => process.stdout.write(`${JSON.stringify({ id: step.id, ...result })}\n`))
}
