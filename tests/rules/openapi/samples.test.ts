import { expect, test } from 'vitest'
import { samplesOf } from '../../../src/api/docs/samples.ts'

const codes = (request: Parameters<typeof samplesOf>[0]) => samplesOf(request).map(({ code }) => code)
const url = 'http://127.0.0.1:3000/v1/messages'

test('each language names method, address, key, headers and body', () => {
  const headers = { 'Idempotency-Key': 'order-4711' }
  for (const code of codes({ method: 'POST', url, hasKey: true, headers, body: { a: [1] } })) {
    for (const part of [url, 'API_KEY', 'Bearer', 'order-4711', 'application/json', '"a"'])
      expect(code).toContain(part)
  }
})

test('a body is written as each language writes it', () => {
  const body = { isOn: true, isOff: false, none: null, text: "it's $HOME\n" }
  const [curl = '', script = '', python = ''] = codes({
    method: 'PATCH',
    url,
    hasKey: false,
    headers: {},
    body,
  })
  expect(curl).toContain(String.raw`it'\''s $HOME\n`)
  expect(curl).toContain('-X PATCH')
  expect(script).toContain('"isOn": true')
  expect(python).toContain('"isOn": True')
  expect(python).toContain('"isOff": False')
  expect(python).toContain('"none": None')
})

test('a request without key and body names neither', () => {
  for (const code of codes({ method: 'GET', url, hasKey: false, headers: {} }))
    expect(code).not.toMatch(/API_KEY|Bearer|json|-X|-d |os[,.]/)
})
