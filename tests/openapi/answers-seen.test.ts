import { expect, test } from 'vitest'
import { answersSeen } from '../support/answers-seen.ts'
import { validateAnswer } from '../support/openapi.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

test('an answer of an API is seen, whoever asked, and would fail its test with a status that the document lacks', async () => {
  await (await fetch(`${service.url}/v1/messages`)).text()
  const seen = answersSeen.filter(({ path }) => path === '/v1/messages')
  expect(seen).toMatchObject([{ method: 'GET', status: 401, body: { message: expect.any(String) } }])
  for (const { method, path, headers, body } of seen) {
    expect(() => validateAnswer(method, path, 401, body, headers)).not.toThrow()
    expect(() => validateAnswer(method, path, 418, body, headers)).toThrow('not in the document')
  }
})
