import { afterAll, afterEach } from 'vitest'
import { answersSeen, holdAgainstDocument } from './answers-seen.ts'

/** Fails the test if an API of this process has answered what the document doesn't have. */
async function expectDocumented(): Promise<void> {
  const answers = answersSeen.splice(0)
  if (answers.length === 0) return
  const { validateAnswer } = await import('./openapi.ts')
  for (const { method, path, status, headers, body } of answers)
    validateAnswer(method, path, status, body, headers)
}

holdAgainstDocument()
afterEach(expectDocumented)
afterAll(expectDocumented)
