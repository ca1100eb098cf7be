import { afterAll, afterEach } from 'vitest'
import { answersSeen } from './answers-seen.ts'

/** A test fails by whatever the API answered meanwhile that the document doesn't have, whoever asked. */
async function expectDocumented(): Promise<void> {
  const answers = answersSeen.splice(0)
  if (answers.length === 0) return
  const { validateAnswer } = await import('./openapi.ts')
  for (const { method, path, status, headers, body } of answers)
    validateAnswer(method, path, status, body, headers)
}

afterEach(expectDocumented)
afterAll(expectDocumented)
