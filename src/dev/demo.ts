import { setTimeout as sleep } from 'node:timers/promises'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { renderExplanation } from '../cli/render-explanation.ts'
import { traceOf } from '../cli/trace.ts'
import type { DeliveryState } from '../core/receipts/receipt.ts'
import type { Timeline } from '../core/sends/timeline.ts'
import { runProcess } from '../platform/process/process.ts'
import { type Stack, startStack } from './stack.ts'
import {
  demoExamples,
  type Emulators,
  reportToChannels,
  startEmulators,
  stopEmulators,
} from './world/emulators.ts'
import { type Seed, seedDemoAccount, seedEmulatedChannels } from './world/seed.ts'

const finishWithinMs = 30_000
const receivedWithinMs = 2000
const queryTimeoutMs = 10_000

let stack: Stack<Seed>

await runProcess(async () => {
  const emulators = await startEmulators()
  stack = await startStack({ settings: { RETRY_DELAYS_SECONDS: '1,1,1' }, prepare: seedDemoAccount })
  await playAll(emulators).finally(() => stack.stop())
  await stopEmulators(emulators)
})

async function playAll(emulators: Emulators): Promise<void> {
  const seed = stack.prepared
  const channels = await seedEmulatedChannels(stack.environment, seed.accountId, emulators)
  reportToChannels(emulators, channels, stack.apiUrl)
  const examples = demoExamples(emulators, { ...channels, sandbox: seed.channelId })
  const db = connectDatabase(stack.environment.DATABASE_URL ?? '', {
    poolSize: 1,
    queryTimeoutMs,
    onConnectionLost: () => {},
  })
  const results: boolean[] = []
  for (const example of examples) results.push(await play(example, seed, db))
  await db.$client.end()
  const asExpected = results.every(Boolean)
  const verdict = `All ${examples.length} sends ended as expected.`
  console.log(asExpected ? verdict : 'Some sends did not end as expected: see EXPECTED and NOTHING above.')
  if (!asExpected) {
    for (const { lastLines } of stack.processes) console.error(lastLines())
    process.exitCode = 1
  }
}

type Playable = ReturnType<typeof demoExamples>[number]

async function play(example: Playable, seed: Seed, db: Database): Promise<boolean> {
  const { title, channelId, contact, message, ends, attempts, delivery } = example
  const { requestId } = await call<{ requestId: string }>('/v1/messages', seed, {
    channelId,
    contact,
    message,
  })
  const timeline = await finished(requestId, seed, delivery)
  const received = example.received && (await eventually(() => example.received?.(requestId)))
  const isDeliveryRight = delivery === undefined || timeline.delivery === delivery
  const isEndRight = timeline.status === ends && timeline.attempts === attempts && isDeliveryRight
  const end = delivery === undefined ? ends : `${ends}, ${delivery}`
  const verdict = isEndRight ? '' : `  EXPECTED ${end} after ${attempts} attempts`
  const found = await traceOf(db, requestId)
  console.log(
    `${title}${verdict}\n${found ? renderExplanation(found.explanation, found.timeline) : requestId}`,
  )
  if (example.received) console.log(`  the emulator received  ${received ?? 'NOTHING'}`)
  console.log()
  return isEndRight && (!example.received || received !== undefined)
}

/** Waits for the emulator, because a provider may fetch media after it has answered. */
async function eventually(read: () => string | undefined): Promise<string | undefined> {
  for (const deadline = Date.now() + receivedWithinMs; ; await sleep(20)) {
    const value = read()
    if (value !== undefined || Date.now() > deadline) return value
  }
}

/** @param delivery the state to wait for after the end, if receipts come. */
async function finished(
  requestId: string,
  seed: Seed,
  delivery: DeliveryState | undefined,
): Promise<Timeline> {
  for (const deadline = Date.now() + finishWithinMs; ; await sleep(100)) {
    const timeline = await call<Timeline>(`/v1/messages/${requestId}`, seed)
    // A send whose channel is held would wait for an operator.
    const isHeld = timeline.events.at(-1)?.event === 'channel_held'
    const isOver = timeline.finishedAt !== null && (delivery === undefined || timeline.delivery === delivery)
    if (isOver || isHeld || Date.now() > deadline) return timeline
  }
}

async function call<Answer>(path: string, seed: Seed, body?: object): Promise<Answer> {
  const response = await fetch(stack.apiUrl + path, {
    headers: { Authorization: `Bearer ${seed.apiKey}`, 'Content-Type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Answer
}
