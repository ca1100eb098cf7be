import { createRequire } from 'node:module'
import {
  context,
  ProxyTracerProvider,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { sends } from '../../db/schema.ts'
import type { Account } from '../support/builders.ts'
import type { TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { answer, openWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

// A tracer that has seen an SDK keeps it: this file has modules of its own, which other files neither see nor are given.
vi.resetModules()
const { MicroBatch } = await import('../../src/platform/micro-batch.ts')
const { flushSpans, inSpan } = await import('../../src/platform/log/tracing.ts')
const { buildAccount, buildWebhookChannel, post, textBody } = await import('../support/builders.ts')
const { finishedTimeline, startTestService } = await import('../support/service.ts')

const ofClient = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const clientHeader = `00-${ofClient.traceId}-${ofClient.spanId}-01`

let service: TestService
let account: Account
let receiver: WebhookReceiver
let hook: string

beforeAll(async () => {
  receiver = await openWebhookReceiver()
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  })
  account = await buildAccount(service)
  hook = await buildWebhookChannel(service, account.accountId, receiver.at(answer(200)), 'resend')
  await service.startWorker('one')
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  vi.resetModules()
})

/** Sends a text to a receiver and waits for its end. */
async function send(headers: Record<string, string> = {}, channelId = hook): Promise<string> {
  const { status, body } = await post(service, { ...account, channelId }, textBody(), headers)
  expect(status).toBe(202)
  await finishedTimeline(service, body.requestId, account.apiKey)
  return body.requestId
}

async function keptWith(requestId: string): Promise<string | null | undefined> {
  const [row] = await service.runtime.db
    .select({ traceparent: sends.traceparent })
    .from(sends)
    .where(eq(sends.requestId, requestId))
  return row?.traceparent
}

const headersOf = (requestId: string) =>
  receiver.calls.filter(({ headers }) => headers['webhook-id'] === requestId).map(({ headers }) => headers)

// First: an SDK stays for the tracers that have seen it.
describe('where no SDK is loaded', () => {
  test('no trace is stored with a send, and none is passed on', async () => {
    const requestId = await send()
    expect(await keptWith(requestId)).toBeNull()
    expect(headersOf(requestId)[0]).not.toHaveProperty('traceparent')
    for (const line of service.logsOf(requestId)) expect(line).not.toHaveProperty('trace_id')
    await flushSpans()
  })

  test("a client's own traceparent is kept, and handed on as it came", async () => {
    const requestId = await send({ traceparent: clientHeader })
    expect(await keptWith(requestId)).toBe(clientHeader)
    expect(headersOf(requestId)[0]?.traceparent).toBe(clientHeader)
  })

  test('a malformed traceparent is dropped', async () => {
    const requestId = await send({ traceparent: 'x'.repeat(5000) })
    expect(await keptWith(requestId)).toBeNull()
  })
})

describe('where an SDK is loaded', () => {
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  beforeAll(() => provider.register())
  beforeEach(() => exporter.reset())
  afterAll(async () => {
    for (const api of [trace, context, propagation]) api.disable()
    await provider.shutdown()
  })

  const isAbout = ({ attributes }: ReadableSpan, requestId: string) =>
    [attributes['messaging.message.id'], attributes['http.response.header.x-request-id']]
      .flat()
      .includes(requestId)

  /** The spans about a send but those of reading it, once all have ended. */
  async function spansOf(requestId: string, count: number): Promise<ReadableSpan[]> {
    return await eventually(`${count} spans`, async () => {
      const spans = exporter.getFinishedSpans().filter((span) => isAbout(span, requestId))
      return spans.length === count && spans.sort((a, b) => before(a, b))
    })
  }
  /** Within a millisecond, a span stands before those that it is the parent of. */
  const before = (a: ReadableSpan, b: ReadableSpan) =>
    a.startTime[0] - b.startTime[0] ||
    a.startTime[1] - b.startTime[1] ||
    (a.parentSpanContext?.spanId === b.spanContext().spanId ? 1 : -1)

  const shapeOf = ({ name, kind }: ReadableSpan) => [name, kind]

  test('a send is one trace, from its request to its provider, across the queue', async () => {
    const requestId = await send()
    const spans = await spansOf(requestId, 4)
    expect(spans.map(shapeOf)).toEqual([
      ['POST /v1/channels/:channelId/messages', SpanKind.SERVER],
      ['send sends', SpanKind.PRODUCER],
      ['process sends', SpanKind.CONSUMER],
      ['send webhook', SpanKind.CLIENT],
    ])
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1)
    const ids = spans.map((span) => span.spanContext().spanId)
    expect(spans.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([
      undefined,
      ids[0],
      ids[1],
      ids[2],
    ])
    expect(await keptWith(requestId)).toBe(`00-${spans[1]?.spanContext().traceId}-${ids[1]}-01`)
    const [request, , , call] = spans
    expect(request?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/channels/:channelId/messages',
      'http.response.status_code': 202,
    })
    expect(call?.attributes).toEqual({
      'messaging.system': 'webhook',
      'messaging.operation.type': 'send',
      'messaging.operation.name': 'send',
      'messaging.destination.name': hook,
      'messaging.message.id': requestId,
      'outbound.attempt': 1,
      'outbound.outcome': 'sent',
      'outbound.provider.status': 200,
      'http.request.method': 'POST',
      'url.scheme': 'http',
      'server.address': '127.0.0.1',
      'server.port': receiver.port,
      'http.response.status_code': 200,
    })
    // The receiver continues the trace, and every log line of the send has its id.
    expect(headersOf(requestId)).toMatchObject([
      { traceparent: `00-${call?.spanContext().traceId}-${call?.spanContext().spanId}-01` },
    ])
    const lines = service.logsOf(requestId)
    expect(lines.map(({ event }) => event)).toEqual([
      'accepted',
      'attempt_started',
      'attempt_finished',
      'sent',
    ])
    for (const line of lines) expect(line.trace_id).toBe(spans[0]?.spanContext().traceId)
  })

  test("a client's own trace goes on to the provider", async () => {
    const requestId = await send({ traceparent: clientHeader })
    const spans = await spansOf(requestId, 4)
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([ofClient.traceId]))
    expect(spans[0]?.parentSpanContext?.spanId).toBe(ofClient.spanId)
  })

  test('a malformed traceparent is ignored', async () => {
    const requestId = await send({ traceparent: `00-${ofClient.traceId}-${ofClient.spanId}` })
    const [request] = await spansOf(requestId, 4)
    expect(request?.parentSpanContext).toBeUndefined()
    expect(request?.spanContext().traceId).not.toBe(ofClient.traceId)
  })

  test('a trace that its client does not record is not recorded here, but is passed on', async () => {
    const requestId = await send({ traceparent: clientHeader.replace(/01$/, '00') })
    expect(exporter.getFinishedSpans().filter((span) => isAbout(span, requestId))).toEqual([])
    expect(headersOf(requestId)[0]?.traceparent).toMatch(
      new RegExp(`^00-${ofClient.traceId}-[0-9a-f]{16}-00$`),
    )
  })

  test('each attempt is a span of the same trace, a failed call an error', async () => {
    const answers = [answer(503), answer(200)]
    const url = receiver.at((request, response) => (answers.shift() ?? answer(200))(request, response))
    const flaky = await buildWebhookChannel(service, account.accountId, url, 'resend')
    const requestId = await send({}, flaky)
    const spans = await spansOf(requestId, 6)
    const calls = spans.filter(({ kind }) => kind === SpanKind.CLIENT)
    expect(calls.map(({ status }) => status.code)).toEqual([SpanStatusCode.ERROR, SpanStatusCode.UNSET])
    expect(calls.map(({ attributes }) => attributes['error.type'])).toEqual(['retry_later', undefined])
    expect(calls.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([503, 200])
    const producer = spans[1]?.spanContext()
    for (const span of spans.filter(({ kind }) => kind === SpanKind.CONSUMER)) {
      expect(span.parentSpanContext).toMatchObject({ traceId: producer?.traceId, spanId: producer?.spanId })
    }
  })

  test('spans hold no contact, no content and no credential', async () => {
    const contact = '+4915112349876'
    const { body } = await post(service, { ...account, channelId: hook }, textBody('A secret word', contact))
    await finishedTimeline(service, body.requestId, account.apiKey)
    const spans = await spansOf(body.requestId, 4)
    const exported = JSON.stringify(
      spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
    )
    expect(exported).not.toMatch(/4915112349876|secret word|omk_|whsec_|\/hooks\//)
  })

  test('a refused request is a span with its status, and its line has the trace', async () => {
    const { body } = await post(service, { ...account, apiKey: 'omk_x' }, textBody())
    const [span] = await spansOf(body.requestId, 1)
    expect(span?.attributes['http.response.status_code']).toBe(401)
    expect(span?.status.code).toBe(SpanStatusCode.UNSET)
    expect(service.logsOf(body.requestId)).toMatchObject([
      { event: 'rejected', trace_id: span?.spanContext().traceId },
    ])
  })

  test("work that many share is in nobody's span, and each goes on in its own", async () => {
    const seen: unknown[] = []
    const batch = new MicroBatch<string, string>({
      maxItems: 10,
      flush: async (items) => {
        seen.push(trace.getActiveSpan())
        return items
      },
    })
    const ownSpan = (name: string) =>
      inSpan({ name, kind: SpanKind.INTERNAL }, async (span) => {
        await batch.add(name)
        return trace.getActiveSpan() === span
      })
    expect(await Promise.all(['a', 'b', 'c'].map(ownSpan))).toEqual([true, true, true])
    expect(seen).toEqual([undefined])
  })

  test("before a process ends, the SDK's remaining spans are exported", async () => {
    let flushed = 0
    const flush = provider.forceFlush.bind(provider)
    provider.forceFlush = async () => {
      flushed++
      await flush()
    }
    await flushSpans()
    expect(flushed).toBe(1)
    // As an SDK registers itself that is installed in its own folder.
    trace.disable()
    anotherApi().trace.setGlobalTracerProvider(provider)
    await flushSpans()
    expect(flushed).toBe(2)
  })
})

/** A second copy of OpenTelemetry's API. */
function anotherApi(): typeof import('@opentelemetry/api') {
  const require = createRequire(import.meta.url)
  const files = Object.keys(require.cache).filter((file) => file.includes('/@opentelemetry/api/'))
  for (const file of files) delete require.cache[file]
  const copy = require('@opentelemetry/api')
  expect(copy.ProxyTracerProvider).not.toBe(ProxyTracerProvider)
  return copy
}
