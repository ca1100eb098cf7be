import { execFileSync } from 'node:child_process'
import { hostname } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Timeline } from '../../../src/core/sends/timeline.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildWebhookChannel,
  newContact,
  textBody,
} from '../../support/builders.ts'
import { runCli } from '../../support/cli.ts'
import { getPage } from '../../support/pages.ts'
import { startTestProcesses, type TestProcesses } from '../../support/processes.ts'
import { finishedTimeline, type LogLine } from '../../support/service.ts'
import { eventually } from '../../support/wait.ts'
import {
  accept as accepting,
  answer,
  failingOnce,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../../support/webhook-receiver.ts'

let service: TestProcesses
let receiver: WebhookReceiver
let account: Account

beforeAll(async () => {
  service = await startTestProcesses()
  receiver = await openWebhookReceiver()
  account = await buildAccount(service)
})

afterAll(async () => {
  await service.stop()
  await receiver.stop()
})

/** The facts that every way of asking has to show. */
interface Explanation {
  status: string | undefined
  attempts: number
  /** The provider's answer to each attempt. */
  answers: { attempt: number; outcome: string; providerStatus: number | null; providerCode: string | null }[]
  providerMessageId: string | null
  conversationId: string | null
  closedConversationId: string | null
  events: string[]
}

const ends = ['sent', 'failed', 'uncertain']

function explanationOf(events: LogLine[] | Timeline['events'], conversationId: string | null): Explanation {
  const finished = events.filter(({ event }) => event === 'attempt_finished')
  return {
    status: events.map(({ event }) => event).findLast((event) => ends.includes(event)),
    attempts: finished.length,
    answers: finished.map(({ attempt, outcome, providerStatus, providerCode }) => ({
      attempt: Number(attempt),
      outcome: String(outcome),
      providerStatus: providerStatus as number | null,
      providerCode: providerCode as string | null,
    })),
    providerMessageId: (finished.at(-1)?.providerMessageId as string | null | undefined) ?? null,
    conversationId,
    closedConversationId:
      (events.find(({ event }) => event === 'conversation_closed')?.conversationId as string | undefined) ??
      null,
    events: events.map(({ event }) => event),
  }
}

/** By `grep` alone, in what the processes wrote. */
async function grepped(requestId: string): Promise<LogLine[]> {
  const lines = () =>
    execFileSync('grep', ['-h', requestId, ...service.logFiles], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .map((line): LogLine => JSON.parse(line))
  await eventually('its end in the logs', async () => lines().some(({ event }) => ends.includes(event)))
  return lines().sort((one, other) => String(one.time).localeCompare(String(other.time)))
}

/** The text of a term in the page's lists of facts. */
function factIn(html: string, name: string): string {
  const [, fact = ''] = new RegExp(`<dt>${name}</dt><dd>(.*?)</dd>`, 's').exec(html) ?? []
  return fact.replace(/<[^>]+>/g, '').trim()
}

interface Views {
  logs: LogLine[]
  api: Timeline
  trace: Timeline
  /** The support page. */
  html: string
  text: string
}

async function askAll(requestId: string): Promise<Views> {
  const api = await finishedTimeline(service, requestId, account.apiKey)
  const [logs, cli, page] = await Promise.all([
    grepped(requestId),
    runCli(service, 'trace', requestId),
    getPage(`${service.adminUrl}/support/${requestId}`),
  ])
  return { logs, api, trace: JSON.parse(cli.stdout), html: page.html, text: page.text }
}

/** Log, API, `trace` and support page agree. */
function expectOneTimeline({ logs, api, trace, html, text }: Views): Explanation {
  const { contact, ...rest } = api
  expect({ ...trace, contact }).toEqual({ ...rest, contact })
  // The account learns nothing about the operator's hosts.
  expect(JSON.stringify(rest)).not.toContain(hostname())

  const explanation = explanationOf(api.events, api.conversationId)
  const joined = logs.find(({ event }) => event === 'attempt_started')?.conversationId as string
  expect(explanationOf(logs, joined)).toEqual(explanation)
  expect(explanation).toMatchObject({
    status: api.status,
    attempts: api.attempts,
    providerMessageId: api.providerMessageId,
  })

  expect(/<span class="state (\w+)"/.exec(html)?.[1]).toBe(api.status)
  expect(factIn(html, 'Attempts')).toBe(String(api.attempts))
  expect(factIn(html, 'Conversation')).toContain(api.conversationId)
  if (explanation.providerMessageId !== null) expect(text).toContain(explanation.providerMessageId)
  if (explanation.closedConversationId !== null)
    expect(factIn(html, 'Closed conversation')).toBe(explanation.closedConversationId)
  const shown = [...html.matchAll(/<li class="entry (\w+)"><time [^>]*datetime="([^"]+)"/g)]
  expect(shown.map(([, event, at]) => ({ event, at }))).toEqual(
    api.events.map(({ event, at }) => ({ event, at })),
  )
  expectSameTimes(logs, api)
  return explanation
}

/** A line is written when its event is in the database, so a little later, and by another process's clock. */
function expectSameTimes(logs: LogLine[], { events }: Timeline): void {
  for (const [index, { at, event }] of events.entries()) {
    const apartMs = Date.parse(String(logs[index]?.time)) - Date.parse(at)
    expect(Math.abs(apartMs), `${event} at ${at}, logged ${apartMs} ms later`).toBeLessThan(5000)
  }
}

const channelTo = async (behaviour: Parameters<WebhookReceiver['at']>[0]) => ({
  ...account,
  channelId: await buildWebhookChannel(service, account.accountId, receiver.at(behaviour), 'hold'),
})

test('a send that closes a conversation: logs, trace, API and page agree, from its 202 to its provider message id', async () => {
  const contact = newContact()
  const channel = await channelTo(accepting)
  const earlier = await accept(service, channel, textBody('Hello', contact))
  const { conversationId } = await finishedTimeline(service, earlier, account.apiKey)
  const body = { ...textBody('Hello again', contact), closeConversation: true }
  const requestId = await accept(service, channel, body)

  const explanation = expectOneTimeline(await askAll(requestId))
  expect(explanation).toMatchObject({
    status: 'sent',
    attempts: 1,
    providerMessageId: 'received-1',
    closedConversationId: conversationId,
  })
  expect(explanation.conversationId).not.toBe(conversationId)
  expect(explanation.events).toEqual([
    'accepted',
    'conversation_closed',
    'attempt_started',
    'attempt_finished',
    'sent',
  ])
  expect(receiver.callsOf(requestId)).toHaveLength(1)
})

test('a send that is retried: all show both attempts', async () => {
  const requestId = await accept(service, await channelTo(failingOnce()), textBody())
  const explanation = expectOneTimeline(await askAll(requestId))
  expect(explanation).toMatchObject({ status: 'sent', attempts: 2, providerMessageId: 'received-1' })
  expect(explanation.answers.map(({ providerStatus }) => providerStatus)).toEqual([503, 200])
  expect(explanation.events).toContain('retry_scheduled')
  expect(receiver.callsOf(requestId)).toHaveLength(2)
})

test('a send that is refused: all show that it failed, and why', async () => {
  const requestId = await accept(service, await channelTo(answer(422)), textBody())
  const views = await askAll(requestId)
  expect(expectOneTimeline(views)).toMatchObject({ status: 'failed', attempts: 1, providerMessageId: null })
  const reason = views.api.events.at(-1)?.reason
  expect(views.logs.at(-1)).toMatchObject({ event: 'failed', reason })
  expect(views.text).toContain(reason)
})
