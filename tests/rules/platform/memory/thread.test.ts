import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { Thread, ThreadLost } from '../../../../src/platform/memory/thread.ts'
import { expectSooner, timed, unlessStoodStill } from '../../../support/standstill.ts'
import { eventually } from '../../../support/wait.ts'
import type { Trial } from './trial-thread.ts'

const open = (taskMs = 200_000) =>
  new Thread<Trial, string | Uint8Array>(new URL('./trial-thread.ts', import.meta.url), {
    workerData: 'given',
    taskMs,
    resourceLimits: { maxOldGenerationSizeMb: 64 },
  })
/** To start one takes long: each has to load TypeScript. */
const shared = open()
const echo = (value: number, busyMs = 0) => ({ echo: Uint8Array.of(value), busyMs })

test('each call gets its own answer, in the order of the calls', async () => {
  const thread = shared
  const ended: number[] = []
  const answers = await Promise.all(
    [3, 1, 2].map(async (value) => {
      const answer = await thread.run(echo(value, value * 10))
      ended.push(value)
      return answer
    }),
  )
  expect(answers).toEqual([3, 1, 2].map((value) => Uint8Array.of(value)))
  expect(ended).toEqual([3, 1, 2])
})

test('a transferred buffer is no longer held here', async () => {
  const bytes = new Uint8Array(1_000_000).fill(7)
  const answer = await shared.run({ echo: bytes }, [bytes.buffer])
  expect(bytes.length).toBe(0)
  expect(answer.length).toBe(1_000_000)
})

test('the main thread continues while it works', async () => {
  const thread = shared
  await thread.run(echo(1))
  const { working, ...span } = await timed(async () => {
    const working = [thread.run(echo(2, 1000))]
    await sleep(1)
    return { working }
  })
  expectSooner(span, 900)
  await Promise.all(working)
})

test('a task that throws fails alone', async () => {
  const thread = shared
  const failing = thread.run('throw')
  const next = thread.run(echo(1))
  await expect(failing).rejects.toThrow(new RangeError('thrown in the thread'))
  expect(await next).toEqual(Uint8Array.of(1))
})

test.each([
  ['exit', /exit 3/],
  ['fill its memory', /ERR_WORKER_OUT_OF_MEMORY/],
] as const)(
  'a thread that is lost by "%s" fails what it was at work on, and what waited is done',
  async (how, reason) => {
    const thread = open()
    const failing = thread.run(how)
    const waiting = [thread.run(echo(1)), thread.run(echo(2))]
    const error = await failing.catch((fault: unknown) => fault)
    expect(error).toBeInstanceOf(ThreadLost)
    expect(String(error)).toMatch(reason)
    expect(await Promise.all(waiting)).toEqual([Uint8Array.of(1), Uint8Array.of(2)])
    expect(await thread.run(echo(3))).toEqual(Uint8Array.of(3))
  },
)

test('a task that does not end is given up, and waiting tasks are done: the start of their thread does not count', async () => {
  // A thread takes longer to start.
  const thread = open(200)
  const hanging = thread.run(echo(1, 60_000))
  const waiting = thread.run(echo(2)).catch((fault: unknown) => fault)
  await expect(hanging).rejects.toThrow(ThreadLost)
  const next = await timed(async () => ({ answer: await waiting }))
  unlessStoodStill(next, () => expect(next.answer).toEqual(Uint8Array.of(2)))
})

test('an uncaught exception in the thread ends neither the process nor later tasks', async () => {
  const thread = open()
  await expect(thread.run('fail uncaught')).rejects.toThrow()
  // Until it is gone, what it is asked fails too.
  const answer = async () => await thread.run(echo(1)).catch(() => undefined)
  expect(await eventually('an answer', answer)).toEqual(Uint8Array.of(1))
})

test('a task that can’t be posted fails alone', async () => {
  const thread = shared
  const unsendable = { echo: (() => {}) as unknown as Uint8Array }
  await expect(thread.run(unsendable)).rejects.toThrow(/could not be cloned/)
  expect(await thread.run(echo(1))).toEqual(Uint8Array.of(1))
})

test('a process whose thread is idle ends by itself', async () => {
  const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)
  const script = `
    const { Thread } = await import(${url('../../../../src/platform/memory/thread.ts')})
    const options = { workerData: 'given', taskMs: 200_000, resourceLimits: { maxOldGenerationSizeMb: 64 } }
    const thread = new Thread(new URL(${url('./trial-thread.ts')}), options)
    const awake = setInterval(() => {}, 1000)
    await thread.run({ echo: Uint8Array.of(1) })
    clearInterval(awake)
    console.log('answered')`
  const node = ['--import', 'tsx', '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, node, { timeout: 200_000 })
  expect(stdout.trim()).toBe('answered')
})
