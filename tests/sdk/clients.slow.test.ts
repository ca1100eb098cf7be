import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { permissions } from '../../src/core/accounts/api-key.ts'
import { errorClasses } from '../../src/dev/clients/operations.ts'
import { absentId } from '../support/absent-id.ts'
import { type Account, buildAccount, buildKey } from '../support/builders.ts'
import { inSeconds } from '../support/later.ts'
import { pick, randomOf } from '../support/random.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { type Fault, startFront } from './front.ts'
import { type Call, isLanguage, type Language, type Result, type Runner, startRunner } from './runners.ts'

interface Step extends Call, Result {
  items?: object[]
  save?: Record<string, string>
}

interface Retried extends Step {
  name: string
  faults: Fault[]
  attempts: number
  sends: number
  atLeastMs?: number
}

interface Webhook {
  name: string
  id?: string | null
  timestamp?: string | null
  signature: string | null
  now?: number
  secret?: string | string[]
  body?: string
  isUpperCase?: true
  isGenuine: boolean
}

const read = (file: string) => JSON.parse(readFileSync(`sdk/cases/${file}.json`, 'utf8'))
const calls: { name: string; steps: Step[] }[] = read('calls')
const retries: Retried[] = read('retries')
const webhooks: Webhook & { cases: Webhook[] } = read('webhooks')

/** Repeats come as soon as they may: what is waited for is what the service asks for. */
const soon = { retryDelayMs: 1 }

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

/** Puts the values into `{{name}}`s. */
const filled = <Value>(value: Value, values: Record<string, string>): Value =>
  JSON.parse(
    JSON.stringify(value).replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const text = values[name]
      if (text === undefined) throw new Error(`The cases name ${name}, which has no value`)
      return text
    }),
  )

const valueAt = (value: unknown, path: string): string =>
  String(path.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], value))

describe.each(isLanguage)('the client of %s', (language: Language) => {
  let runner: Runner
  let account: Account
  let values: Record<string, string>
  const client = (url = service.url) => ({ baseUrl: url, apiKey: account.apiKey, ...soon })

  beforeAll(async () => {
    runner = startRunner(language)
    account = await buildAccount(service, { permissions: [...permissions] })
    const { apiKey: readOnlyKey } = await buildKey(service, account.accountId, {
      permissions: ['messages:read'],
    })
    const { accountId, channelId, flowId } = account
    const times = { later: inSeconds(3600), earlier: inSeconds(-3600) }
    values = { ...times, accountId, channelId, flowId, readOnlyKey, absentId, language }
  })
  afterAll(() => runner.stop())

  /** How many sends with a reference the service has. */
  async function sendsWith(reference: string): Promise<number> {
    const { answer } = await runner.run({ client: client(), list: 'listMessages', query: { reference } })
    return (answer as object[]).length
  }

  test.each(calls)('$name', async ({ steps }) => {
    const saved: Record<string, string> = { ...values }
    for (const step of steps) {
      const { answer, error, items, save = {}, ...call } = filled(step, saved)
      const result = await runner.run({ ...call, client: { ...client(), ...call.client } })
      if (error) expect(result).toMatchObject({ error })
      else if (items) expect(result).toMatchObject({ answer: items })
      else if (answer === null) expect(result).toEqual({ answer })
      else expect(result, JSON.stringify(result)).toMatchObject({ answer })
      if (error) expect(result.error?.requestId).toMatch(/^[\da-f-]{36}$/)
      for (const [name, path] of Object.entries(save)) saved[name] = valueAt(result.answer, path)
    }
  })

  test.each(retries)('$name', async ({ name, faults, attempts, sends, atLeastMs = 0, ...step }) => {
    const front = await startFront(service.url, () => left.shift())
    onTestFinished(front.close)
    const left = [...faults]
    const reference = `${language} ${name}`
    const body = {
      ...{ channelId: account.channelId, contact: { value: '+4915112345678' }, reference },
      message: { type: 'text', text: { value: 'Hello' } },
    }
    const { error, answer, ...call } = step
    const begun = performance.now()
    const result = await runner.run({
      ...{ call: 'sendMessage', args: [body] },
      ...filled(call, values),
      client: { ...client(front.url), ...call.client },
    })
    expect(performance.now() - begun).toBeGreaterThan(atLeastMs)
    const [key = ''] = front.keys
    if (error) expect(result).toMatchObject({ error: filled(error, { key }) })
    else expect(result).toMatchObject({ answer: answer === undefined ? {} : answer })
    expect(front.keys).toHaveLength(attempts)
    expect(new Set(front.keys).size).toBe(Math.min(attempts, 1))
    if (step.options?.idempotencyKey === null) expect(key).toMatch(/^[\da-f]{32}$/)
    expect(await sendsWith(reference)).toBe(sends)
  })

  test('with a network that loses connections at random, each send is there once', async () => {
    const random = randomOf(4711, language)
    const cuts = ['none', 'none', 'none', 'before', 'after', 'amid'] as const
    const front = await startFront(service.url, () => {
      const cut = pick(random, [...cuts])
      return cut === 'none' ? undefined : { cut }
    })
    onTestFinished(front.close)
    const reference = `${language} at random`
    const all = Array.from({ length: 60 }, (_, n) => ({
      ...{ channelId: account.channelId, contact: { value: '+4915112345678' }, reference },
      message: { type: 'text', text: { value: `Hello ${n}` } },
    }))
    const results = await Promise.all(
      all.map((body) =>
        runner.run({ client: { ...client(front.url), retries: 50 }, call: 'sendMessage', args: [body] }),
      ),
    )
    const ids = results.map(({ answer }) => (answer as { requestId: string }).requestId)
    expect(new Set(ids).size).toBe(all.length)
    expect(new Set(front.keys).size).toBe(all.length)
    expect(front.keys.length).toBeGreaterThan(1.3 * all.length)
    expect(await sendsWith(reference)).toBe(all.length)
  })

  test('each code of the service is a class of its own', async () => {
    let next: Fault | undefined
    const front = await startFront(service.url, () => next)
    onTestFinished(front.close)
    for (const { code, status, className } of errorClasses) {
      next = { status, code }
      const result = await runner.run({ client: { ...client(front.url), retries: 0 }, call: 'getKey' })
      expect(result.error).toMatchObject({
        ...{
          class: className,
          code,
          status,
          message: 'As asked',
          requestId: 'of the front',
          isApiError: true,
        },
      })
    }
  })

  test.each(webhooks.cases)('a callback with $name', async (given) => {
    const { id, timestamp, signature, now, secret, body, isUpperCase, isGenuine } = {
      ...{ timestamp: String(webhooks.now), now: webhooks.now },
      ...{ id: webhooks.id, secret: webhooks.secret, body: webhooks.body },
      ...given,
    }
    const named = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
    const there = Object.entries(named).filter(([, value]) => value !== null && value !== undefined)
    const headers = Object.fromEntries(
      there.map(([name, value]) => [isUpperCase ? name.toUpperCase() : name, value]),
    )
    const result = await runner.run({ verify: { headers, body, secret, now } })
    if (isGenuine) expect(result).toEqual({ answer: JSON.parse(body ?? '') })
    else expect(result).toMatchObject({ error: { class: 'VerificationError' } })
  })
})
