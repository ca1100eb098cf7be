import { STATUS_CODES } from 'node:http'
import { count, eq } from 'drizzle-orm'
import { expect } from 'vitest'
import { sends } from '../../db/schema.ts'
import type { Answer } from './answer.ts'
import { wakeUpOf } from './queue.ts'
import type { TestService } from './service.ts'
import { StoodStill } from './standstill.ts'

export const requestIdForm = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Exactly the four fields, the same id in the header, and the message where one is promised. */
export function expectError(answer: Answer, statusCode: number, message?: string | RegExp): void {
  expect(answer.body, `status ${answer.status}`).toStrictEqual({
    statusCode,
    error: STATUS_CODES[statusCode],
    message: expect.any(String),
    requestId: expect.stringMatching(requestIdForm),
  })
  expect(answer.status).toBe(statusCode)
  expect(answer.headers.get('X-Request-Id')).toBe(answer.body.requestId)
  expect(answer.headers.get('Content-Type')).toMatch(/^application\/json/)
  if (typeof message === 'string') expect(answer.body.message).toBe(message)
  else if (message) expect(answer.body.message).toMatch(message)
}

/** Answers that the machine's pace may turn into a 503, as it does with those of a crowd: then the test is done again. */
export function inTime<Each extends Answer>(answers: Each[]): Each[] {
  if (answers.some(({ status }) => status === 503)) throw new StoodStill('a request had waited too long')
  return answers
}

/** A 400 that names the field by its whole path, and left nothing behind. */
export async function expectFault(service: TestService, answer: Answer, path: string): Promise<void> {
  expectError(answer, 400)
  expect(faultyPaths(answer)).toContain(path)
  await expectNothingAccepted(service, answer)
}

export async function expectNothingAccepted(service: TestService, answer: Answer): Promise<void> {
  const { db } = service.runtime
  const { requestId } = answer.body
  expect(await db.select().from(sends).where(eq(sends.requestId, requestId))).toEqual([])
  expect(await wakeUpOf(service, requestId)).toBeUndefined()
}

/** How much the service holds, whatever its ids. */
export async function holdings(service: TestService): Promise<{ recorded: number; enqueued: number }> {
  const { db, shards } = service.runtime
  const [row] = await db.select({ recorded: count() }).from(sends)
  const counts = await Promise.all(
    shards.flatMap(({ queue, overflow }) => [queue.getJobCounts(), overflow.getJobCounts()]),
  )
  const jobs = counts.flatMap((byState) => Object.values(byState))
  return { recorded: row?.recorded ?? 0, enqueued: jobs.reduce((sum, n) => sum + n, 0) }
}

/** `contact.value: required; message.text: required` → both paths. */
function faultyPaths(answer: Answer): string[] {
  return (answer.body.message as string).split('; ').map((fault) => fault.slice(0, fault.indexOf(': ')))
}
