import { describe, expect, test } from 'vitest'
import { explainUnknownId, findRequestId } from '../../../../src/core/requests/request-id.ts'
import { cpuMsOf } from '../../../support/cpu-time.ts'

const id = '01a1fde3-04b0-709e-bec0-b940cc7af3c0'
const other = '01a1fde3-04b0-709e-bec0-b940cc7af3c1'

describe('a requestId is found', () => {
  test.each([
    ['bare', id],
    ['in upper case', id.toUpperCase()],
    ['among white space', `\n\t ${id} \r\n`],
    ['in quotes', `"${id}"`],
    ['in typographic quotes and brackets', `(“${id}”),`],
    ['in a URL', `https://api.example.com/v1/messages/${id}?a=b`],
    ['in the answer of a 202', `{"requestId":"${id}"}`],
    ['in an escaped log line', `{\\"channelId\\":\\"${other}\\",\\"requestId\\":\\"${id}\\"}`],
    [
      'in a log line whose other ids stand first',
      `{"accountId":"${other}","requestId": "${id}","event":"sent"}`,
    ],
    ['in a header', `channel-id: ${other}\nx-request-id: ${id}\n`],
    ['in a query, encoded', `?channelId%3D${other}&requestId%3D${id}`],
    ['behind another that has a name of its own', `conversationId=${other}  ${id}`],
    ['where it alone is there, under another name', `{"channelId":"${id}"}`],
    ['first of several', `${id} ${other}`],
    ['in a Message-ID', `<${id}@example.org>`],
    ['in a media link', `https://api.example.com/media/${id}.1795302864.c2ln`],
    ['broken over two lines', `${id.slice(0, 20)}\n   ${id.slice(20)}`],
    ['with the dashes of a word processor', id.replaceAll('-', '–')],
    ['with invisible marks', `\u200b${id.slice(0, 9)}\u00ad${id.slice(9)}\ufeff`],
    ['without its dashes', id.replaceAll('-', '')],
  ])('%s', (_name, pasted) => {
    expect(findRequestId(pasted)).toBe(id)
  })

  test.each([
    ['nothing', ''],
    ['words', 'where is my message?'],
    ['a part of one', id.slice(0, 30)],
    ['a trace id', 'trace_id=4bf92f3577b34da6a3ce929d0e0e4736'],
    ['a phone number', '+4915112345678'],
  ])('not in %s', (_name, pasted) => {
    expect(findRequestId(pasted)).toBeUndefined()
  })

  test('in little time, in any pasted text', async () => {
    const took = await cpuMsOf(() => {
      for (const piece of ['a', '01a1fde3-', 'requestId":"', ' ', '\\"'])
        findRequestId(piece.repeat(200_000 / piece.length))
    })
    expect(took).toBeLessThan(2000)
  })
})

describe('an id that is no send is explained', () => {
  const made = Date.parse('2026-11-21T11:34:35.040Z')
  const day = 86_400_000
  const explain = (text: string, ageMs = 0) =>
    explainUnknownId(text, { now: new Date(made + ageMs), retentionDays: 90 })

  test.each<[string, string, number, why: RegExp, next: RegExp]>([
    ['nothing', ' ', 0, /^The text is empty\. A requestId has 36 characters, such as /, /Copy the whole id/],
    ['no id', 'hello', 0, /^The text contains no requestId\./, /or the whole log line/],
    ['a part', id.slice(0, 30), 0, /^The id is cut off or mistyped\./, /Copy/],
    ['another kind', '550e8400-e29b-41d4-a716-446655440000', 0, /UUIDs of version 7/, /copied from/],
    [
      'one of an API whose clock is ahead',
      id,
      -600_000,
      /most likely for a request that was refused/,
      /rejected/,
    ],
    ['one from the future', id, -day, /its time, 2026-11-21 11:34:35 UTC, is in the future/, /copied from/],
    [
      'an old one',
      id,
      91 * day,
      /made at 2026-11-21 11:34:35 UTC, more than 90 days ago \(RETENTION_DAYS\)/,
      /`grep 01a1.*`/,
    ],
    [
      'a refused request',
      id,
      day,
      /made at 2026-11-21 11:34:35 UTC: most likely for a request that was refused/,
      /`grep 01a1.*`; a line with the event rejected/,
    ],
  ])('%s', (_name, text, ageMs, why, next) => {
    const explained = explain(text, ageMs)
    expect(explained.why).toMatch(why)
    expect(explained.next.join(' ')).toMatch(next)
    expect(explained.requestId).toBe(findRequestId(text))
  })

  test('by a clock that may be a little wrong', () => {
    expect(explain(id, -60_000).why).toContain('most likely')
  })
})
