import { expect, test } from 'vitest'
import { answersSeen } from '../support/answers-seen.ts'
import { validateAnswer } from '../support/openapi.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

test('an answer of an API is seen, whatever asked for it, and fails its test if the document lacks its status', async () => {
  await (await fetch(`${service.url}/v1/messages`)).text()
  const seen = answersSeen.filter(({ path }) => path === '/v1/messages')
  expect(seen).toMatchObject([{ method: 'GET', status: 401, body: { message: expect.any(String) } }])
  for (const { method, path, headers, body } of seen) {
    expect(() => validateAnswer(method, path, 401, body, headers)).not.toThrow()
    expect(() => validateAnswer(method, path, 418, body, headers)).toThrow('not in the document')
  }
})
