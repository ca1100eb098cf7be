import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { sends } from '../../db/schema.ts'
import { createLogger, logFault, logWarning } from '../../src/platform/log/logger.ts'
import { safeError } from '../../src/platform/log/safe-error.ts'
import { freshDatabase } from '../support/stores.ts'

const secret = 'a secret, "quoted" and all'
let db: Database

beforeAll(async () => {
  db = connectDatabase(await freshDatabase(), {
    poolSize: 1,
    queryTimeoutMs: 5000,
    onConnectionLost: () => {},
  })
})
afterAll(() => db.$client.end())

async function faultOf(work: () => unknown): Promise<unknown> {
  try {
    await work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test.each<[string, () => unknown]>([
  ['a query of the query builder', () => db.select().from(sends).where(eq(sends.requestId, secret))],
  ['a statement of the hot path', () => db.$client.query('select $1::uuid', [secret])],
  ['a parser', () => JSON.parse(secret)],
])('neither the message nor the stack of %s shows the values it failed on', async (_what, work) => {
  const error = await faultOf(work)
  const lines: string[] = []
  const log = createLogger('info', { write: (line) => lines.push(line) })
  logFault(log, 'fault', error)
  logWarning(log, 'warning', error)
  expect(lines.join('')).not.toMatch(/secret|quoted/)
  expect(safeError(error).message).toMatch(/./)
})

test('a logged error has its code and the place where it was thrown', async () => {
  const error = await faultOf(() => db.$client.query('select 1/0'))
  expect(safeError(error)).toMatchObject({ type: 'error', code: '22012', message: 'division by zero' })
  expect(safeError(new Error('x')).stack).toContain('safe-error.test.ts')
})
