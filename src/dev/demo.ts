import { setTimeout as sleep } from 'node:timers/promises'
import { renderTimeline } from '../cli/trace.ts'
import type { SendStatus, Timeline } from '../core/timeline.ts'
import { runProcess } from '../platform/process.ts'
import { type Seed, seedDemoAccount } from './seed.ts'
import { type Stack, startStack } from './stack.ts'

interface Example {
  title: string
  contact: object
  message: object
  ends: SendStatus
  attempts: number
}

const finishWithinMs = 30_000
const onePixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const examples: Example[] = [
  {
    title: 'A text',
    contact: { value: '+49 151 12345678', name: 'Ann Example' },
    message: { type: 'text', text: { value: 'Hello Ann' } },
    ends: 'sent',
    attempts: 1,
  },
  {
    title: 'A template',
    contact: { value: 'ann@example.com', type: 'email' },
    message: { type: 'template', template: { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] } },
    ends: 'sent',
    attempts: 1,
  },
  {
    title: 'A media, after closing the open conversation',
    contact: { value: '+49 151 12345678' },
    message: {
      type: 'media',
      media: { mediaType: 'image', base64: onePixelPng, filename: 'dot.png', caption: 'A dot' },
      closeConversation: true,
    },
    ends: 'sent',
    attempts: 1,
  },
  {
    title: 'A text that goes through at the third attempt',
    contact: { value: '+1 555 010 0102' },
    message: { type: 'text', text: { value: 'Third time lucky' } },
    ends: 'sent',
    attempts: 3,
  },
  {
    title: 'A text that the provider refuses',
    contact: { value: '+1 555 010 0103' },
    message: { type: 'text', text: { value: 'Nobody will read this' } },
    ends: 'failed',
    attempts: 1,
  },
]

let stack: Stack

await runProcess(async () => {
  stack = await startStack({ settings: { RETRY_DELAYS_SECONDS: '1,1,1' } })
  await playAll().finally(() => stack.stop())
})

async function playAll(): Promise<void> {
  const seed = await seedDemoAccount(stack.environment)
  const results: boolean[] = []
  for (const example of examples) results.push(await play(example, seed))
  const asExpected = results.every(Boolean)
  console.log(asExpected ? 'All five ended as they should.' : 'Not all ended as they should; see above.')
  if (!asExpected) {
    for (const { lastLines } of stack.processes) console.error(lastLines())
    process.exitCode = 1
  }
}

async function play({ title, contact, message, ends, attempts }: Example, seed: Seed): Promise<boolean> {
  const { requestId } = await call<{ requestId: string }>('/v1/messages', seed, {
    channelId: seed.channelId,
    contact,
    message,
  })
  const timeline = await finished(requestId, seed)
  const asExpected = timeline.status === ends && timeline.attempts === attempts
  const verdict = asExpected ? '' : `  EXPECTED ${ends} after ${attempts} attempts`
  console.log(`${title}${verdict}\n${renderTimeline(timeline)}\n`)
  return asExpected
}

async function finished(requestId: string, seed: Seed): Promise<Timeline> {
  for (const deadline = Date.now() + finishWithinMs; ; await sleep(100)) {
    const timeline = await call<Timeline>(`/v1/messages/${requestId}`, seed)
    if (timeline.finishedAt || Date.now() > deadline) return timeline
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
