import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LogOutput } from '../../../../src/platform/log/log-output.ts'
import { eventually } from '../../../support/wait.ts'

let folder: string
let pipe: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'log-'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  pipe = openSync(join(folder, 'pipe'), constants.O_RDWR | constants.O_NONBLOCK)
})
afterEach(() => {
  closeSync(pipe)
  rmSync(folder, { recursive: true })
})

const recovery = ({ dropped, reason }: { dropped: number; reason: string }) =>
  `dropped ${dropped} ${reason}\n`

/** Everything that the pipe holds. */
function read(): string {
  const buffer = Buffer.alloc(1024 * 1024)
  try {
    return buffer.toString('utf8', 0, readSync(pipe, buffer))
  } catch {
    return ''
  }
}

/** Numbered lines, of a length that no power of 2 divides, so that a full pipe cuts one. */
const lineOf = (number: number) => `${String(number).padStart(98, '.')}\n`
const lines = (from: number, count: number) => Array.from({ length: count }, (_, at) => lineOf(from + at))

test('a reader that is behind for a moment gets each line, in order', async () => {
  const output = new LogOutput(pipe, recovery)
  const written = lines(0, 4000)
  for (const line of written) output.write(line)
  let got = ''
  await eventually('all lines', async () => {
    got += read()
    return got.length >= 4000 * 99
  })
  expect(got).toBe(written.join(''))
  expect(output.droppedLines).toBe(0)
})

test('a reader that reads again gets whole lines, then one with the number of those that it missed', async () => {
  const output = new LogOutput(pipe, recovery)
  for (const line of lines(0, 20_000)) output.write(line)
  await eventually('lines are dropped', async () => output.droppedLines > 0)
  const before = output.droppedLines
  output.write(lineOf(20_000))
  expect(output.droppedLines).toBe(before + 1)
  let got = ''
  await eventually('the recovery line', async () => {
    got += read()
    return got.includes('dropped ')
  })
  output.write('after\n')
  await eventually('later lines', async () => {
    got += read()
    return got.endsWith('after\n')
  })
  const kept = 20_000 + 1 - output.droppedLines
  expect(got).toBe(`${lines(0, kept).join('')}dropped ${output.droppedLines} EAGAIN\nafter\n`)
})

test('a reader that takes nothing for a second gets no more: lines are not kept for it', async () => {
  const output = new LogOutput(pipe, recovery)
  for (const line of lines(0, 1000)) output.write(line)
  await eventually('lines are dropped', async () => output.droppedLines > 0)
  expect(output.droppedLines).toBeLessThan(1000)
  let got = ''
  await eventually('the recovery line', async () => {
    got += read()
    return got.endsWith(`dropped ${output.droppedLines} EAGAIN\n`)
  })
})

test('a full disk drops each line, and counts it', async () => {
  // Left open: the output goes on to try it, and the number may become another file's.
  const output = new LogOutput(openSync('/dev/full', 'a'), recovery)
  for (const line of lines(0, 10)) output.write(line)
  await eventually('lines are dropped', async () => output.droppedLines > 0)
  for (const line of lines(0, 10)) output.write(line)
  expect(output.droppedLines).toBe(20)
})

test('the end of a process writes its last lines at once', () => {
  const output = new LogOutput(pipe, recovery)
  output.write('last\n')
  output.writeLastLines()
  expect(read()).toBe('last\n')
})
