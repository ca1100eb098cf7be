import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { channels } from '../../db/schema.ts'
import { findExplanation } from '../../db/sends/explanation.ts'
import { explain } from '../../src/core/explanation/explain.ts'
import { buildTimeline } from '../../src/core/sends/timeline.ts'
import { insertBatch, laneOf } from '../support/batches.ts'
import { accept, buildAccount, buildChannel, newContact, textBody } from '../support/builders.ts'
import { runCli, startCli } from '../support/cli.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const trace = (...args: string[]) => startCli(service, {}, 'trace', ...args)

async function explanationOf(requestId: string) {
  const found = await findExplanation(service.runtime.db, requestId)
  if (!found) throw new Error(`No send ${requestId}`)
  return {
    facts: found.facts,
    explanation: explain(buildTimeline(found.send, found.events, 'masked'), found.facts),
  }
}

test('the explanation of a send behind earlier ones names the first and counts them; later it says that the send waited', async () => {
  const contact = newContact()
  const first = await accept(service, account, textBody('1', contact))
  // In two requests at once, which may share an insert or not.
  const next = await Promise.all(['2', '3'].map((text) => accept(service, account, textBody(text, contact))))
  const alone = await accept(service, account, textBody())
  const found = await Promise.all(next.map(explanationOf))

  expect((await explanationOf(first)).facts).toMatchObject({ ahead: null, waitedFor: null })
  expect((await explanationOf(alone)).facts).toMatchObject({ ahead: null, waitedFor: null })
  const counts = found.map(({ facts }) => facts.ahead?.count).sort()
  expect(counts).toEqual([1, 2])
  const last = found.find(({ facts }) => facts.ahead?.count === 2)
  expect(last?.explanation.summary).toBe('Waiting: behind an earlier message to this contact.')
  expect(last?.facts.ahead?.first).toEqual({ requestId: first, status: 'queued' })
  const waited = found.map(({ facts }) => facts.waitedFor?.requestId)
  expect(waited).toContain(first)
  expect(new Set(waited).size).toBe(2)

  const worker = await service.startWorker('first-worker')
  for (const requestId of next) {
    await finishedTimeline(service, requestId, account.apiKey)
    const { facts } = await explanationOf(requestId)
    const before = await explanationOf(facts.waitedFor?.requestId ?? '')
    expect(facts.ahead).toBeNull()
    expect(facts.waitedFor?.finishedAt?.toISOString()).toBe(before.explanation.entries.at(-1)?.at)
  }
  await worker.stop()
})

test('sends accepted by one insert wait one behind the other, the first behind those before', async () => {
  const lane = laneOf(3, account)
  const [there] = await insertBatch(service, lane.slice(0, 1))
  const [first, second] = await insertBatch(service, lane.slice(1))
  const waitedFor = async (send = { requestId: '' }) =>
    (await explanationOf(send.requestId)).facts.waitedFor?.requestId
  expect(await waitedFor(there)).toBeUndefined()
  expect(await waitedFor(first)).toBe(there?.requestId)
  expect(await waitedFor(second)).toBe(first?.requestId)
})

test('sends of a channel without an order wait behind no other', async () => {
  const channelId = await buildChannel(service, account.accountId)
  await service.runtime.db.update(channels).set({ ordering: 'none' }).where(eq(channels.id, channelId))
  const contact = newContact()
  await accept(service, { ...account, channelId }, textBody('1', contact))
  const second = await accept(service, { ...account, channelId }, textBody('2', contact))
  expect((await explanationOf(second)).facts).toMatchObject({ ahead: null, waitedFor: null })
})

test('the more urgent sends of its channel that are due are counted, and no others', async () => {
  const channelId = await buildChannel(service, account.accountId)
  const send = (priority: string, more: object = {}) =>
    accept(service, { ...account, channelId }, { ...textBody('1', newContact()), priority, ...more })
  const [bulk, normal, urgent] = [await send('bulk'), await send('normal'), await send('urgent')]
  await send('urgent', { sendAt: new Date(Date.now() + 3_600_000).toISOString() })
  await accept(service, account, { ...textBody('1', newContact()), priority: 'urgent' })
  const counts = [bulk, normal, urgent].map(async (id) => (await explanationOf(id)).facts.moreUrgent)
  expect(await Promise.all(counts)).toEqual([2, 1, 0])
})

test("the explanation of a send of a held channel has the reason for the hold, and the channel's limits", async () => {
  const channelId = await buildChannel(service, account.accountId)
  const requestId = await accept(service, { ...account, channelId }, textBody())
  const limits = { rateCalls: 80, rateSeconds: 1, maxInFlight: 5 }
  const held = { heldAt: new Date(), heldReason: 'The token is void', ...limits }
  await service.runtime.db.update(channels).set(held).where(eq(channels.id, channelId))
  const { facts, explanation } = await explanationOf(requestId)
  expect(facts.channel).toMatchObject({ channelId, rate: { calls: 80, seconds: 1 }, maxInFlight: 5 })
  expect(explanation.summary).toMatch(
    /^Waiting: the channel Test has been held since .* UTC\. The token is void\.$/,
  )
  expect(explanation.advice?.command).toBe(`channel resume ${channelId}`)
})

test('trace --follow prints the events as they come, and exits with 0 when the send was sent', async () => {
  const requestId = await accept(service, account, textBody())
  const running = trace(requestId, '--follow')
  await eventually('what it waits for', async () => running.output.stdout.includes('Waiting in the queue'))
  expect(running.output.stdout).toMatch(/^[0-9a-f-]{36} {2}queued {2}text to \+49\*+\d\d\n .* accepted /)
  const worker = await service.startWorker('second-worker')
  const { status, stdout, stderr } = await running.ended
  await worker.stop()

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const names = [...stdout.matchAll(/^ {2}\d{4}-\S+ {2}(\w+)/gm)].map(([, name]) => name)
  expect(names).toEqual(['accepted', 'attempt_started', 'attempt_finished', 'sent'])
  expect(stdout).toContain('Accepted by the provider at ')
  expect(stdout).toContain(`For the customer: Your text message ${requestId}`)
})

test('of a failed send, trace prints the explanation; with --follow it exits with 1 and says why in one line', async () => {
  const worker = await service.startWorker('third-worker')
  const requestId = await accept(service, account, textBody('Hello', '+15550100103'))
  await finishedTimeline(service, requestId, account.apiKey)
  await worker.stop()
  const [plain, followed, json] = await Promise.all([
    // As it may have been copied.
    trace(`{"event":"accepted","requestId":"${requestId.toUpperCase()}"}`).ended,
    trace(requestId, '--follow').ended,
    runCli(service, 'trace', requestId, '--follow'),
  ])
  expect({ status: plain.status, stderr: plain.stderr }).toEqual({ status: 0, stderr: '' })
  const summary =
    /^Not delivered\. The provider refused it: the sandbox refuses this recipient, always\. 1 attempt was made, at .* UTC( on [\d-]+)?\.$/m
  expect(plain.stdout).toMatch(summary)
  expect(plain.stdout).toContain('status 400, code rejected: the sandbox refuses this recipient, always')
  expect(plain.stdout).not.toContain('15550100103')
  const postedBy = `  API key: ${account.apiKey.slice(0, 8)}… (${account.keyId}); Idempotency-Key: none`
  expect(plain.stdout.trimEnd().split('\n').at(-1)).toBe(postedBy)
  expect(followed.stdout).toContain(postedBy)
  expect(followed.status).toBe(1)
  expect(followed.stderr).toMatch(/^Not delivered\. .*\n$/)
  expect(followed.stdout).toMatch(summary)
  expect(json.status).toBe(1)
  expect(JSON.parse(json.stdout)).toMatchObject({ requestId, status: 'failed', events: expect.any(Array) })
  expect(json.stdout).not.toContain(account.keyId)
})

test.each([
  ['01890000-0000-7000-8000-000000000001', 'more than 90 days ago (RETENTION_DAYS)'],
  ['my message', 'The text contains no requestId.'],
])('trace %s says in one line why that is no send, and exits with 3', async (pasted, why) => {
  const { status, stdout, stderr } = await trace(pasted).ended
  expect({ status, stdout }).toEqual({ status: 3, stdout: '' })
  expect(stderr).toMatch(/^.+\n$/)
  expect(stderr).toContain(why)
})

test('nothing of what was pasted reaches the terminal as a command', async () => {
  const { stderr } = await trace('my\u001b[31m \u009b2J\rmessage').ended
  expect(stderr).toMatch(/^my \[31m .*The text contains no requestId\./)
  expect(stderr.trimEnd()).not.toMatch(/\p{Cc}/u)
})
