import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resumeChannel } from '../../db/accounts/channels.ts'
import { findSend } from '../../db/sends/sends.ts'
import { timelineOf } from '../support/attempts.ts'
import { type Account, accept, buildAccount, post, textBody } from '../support/builders.ts'
import { conversationsWith } from '../support/conversations.ts'
import { inSeconds, makeDue, postBatch } from '../support/later.ts'
import { samples } from '../support/media-samples.ts'
import {
  finishedTimeline,
  soonReconciled,
  startTestService,
  type TestService,
  testSecrets,
} from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const page = readFileSync('docs/how-to/move-an-account.md', 'utf8')
const contact = '+4915112345678'

let cells: [TestService, TestService]
let account: Account

beforeAll(async () => {
  const CREDENTIALS_KEY = randomBytes(32).toString('base64')
  cells = [
    await startTestService(),
    await startTestService({ CREDENTIALS_KEY, CREDENTIALS_KEY_PREVIOUS: testSecrets.CREDENTIALS_KEY }),
  ]
  account = await buildAccount(cells[0])
})
afterAll(() => Promise.all(cells.map((cell) => cell.stop())))

/** The commands of the page's steps, with the account's id. */
const steps = page
  .split(/^\d\. /m)
  .slice(1)
  .map((step) => (line: RegExp) => {
    const found = [...step.matchAll(line)]
    expect(found.length).toBeGreaterThan(0)
    return found.map(([, ...parts]) =>
      parts.map((part = '') => part.replaceAll('$ACCOUNT', account.accountId)),
    )
  })

/** Does what `move` of the page does. */
async function move(step: number): Promise<void> {
  const [from, to] = await Promise.all(cells.map(({ runtime }) => runtime.db.$client.connect()))
  if (!from || !to) throw new Error('not connected')
  try {
    for (const [table = '', query] of steps[step - 1]?.(/move (\w+) "(.*)"$/gm) ?? []) {
      await to.query(`create temp table moved (like ${table})`)
      await pipeline(
        from.query(copyTo(`copy (${query}) to stdout`)),
        to.query(copyFrom('copy moved from stdin')),
      )
      await to.query(
        `insert into ${table} overriding system value select * from moved on conflict do nothing`,
      )
      await to.query('drop table moved')
    }
  } finally {
    from.release()
    to.release()
  }
}

/** Rows of the step's last query, in the cell that it names. */
async function query(step: number): Promise<unknown[]> {
  const [[cell, text = ''] = []] = steps[step - 1]?.(/psql "\$(FROM|TO)" -c "(.*)"$/gm) ?? []
  const { runtime } = cells[cell === 'FROM' ? 0 : 1]
  return (await runtime.db.$client.query(text)).rows
}

test('an account that moves keeps its keys, idempotency keys, conversation, and the order to a contact', async () => {
  const [former, present] = cells
  const { stop } = await former.startWorker('earlier')
  const keyed = { 'Idempotency-Key': 'one' }
  const first = await post(former, account, textBody('First', contact), keyed)
  const { conversationId } = await finishedTimeline(former, first.body.requestId, account.apiKey)
  await stop()
  const second = await accept(former, account, textBody('Second', contact))
  const later = { 'Idempotency-Key': 'later' }
  const image = {
    contact: { value: contact },
    message: { type: 'media', media: { mediaType: 'image', base64: samples.png.toString('base64') } },
    sendAt: inSeconds(3600),
  }
  const scheduled = await postBatch(former, account, [image], later)
  const [{ requestId: scheduledId }] = scheduled.body.messages

  await move(1)
  await query(1)
  await move(2)
  await present.startWorker('present', { times: soonReconciled })
  const again = await post(present, account, textBody('First', contact), keyed)
  expect(again).toMatchObject({ status: 202, body: first.body })
  expect(again.headers.get('Idempotent-Replayed')).toBe('true')
  const third = await accept(present, account, textBody('Third', contact))

  expect(await query(3)).toEqual([{ count: '1' }])
  await former.startWorker('former')
  await finishedTimeline(former, second, account.apiKey)
  await eventually('no unfinished send', async () => {
    const [row] = (await query(3)) as [{ count: string }]
    return row.count === '0'
  })
  expect(present.logsOf(third).map(({ event }) => event)).not.toContain('attempt_started')

  await query(4)
  await move(4)
  expect(await findSend(former.runtime.db, scheduledId)).toBeUndefined()
  expect(await timelineOf(present, scheduledId)).toMatchObject({ status: 'queued', sendAt: image.sendAt })
  expect((await postBatch(present, account, [image], later)).body).toEqual(scheduled.body)
  await former.runtime.db.$client.query('drop table moving')

  await move(5)
  expect(await resumeChannel(present.runtime.db, account.channelId)).toBe(true)
  expect(await finishedTimeline(present, third, account.apiKey)).toMatchObject({
    status: 'sent',
    conversationId,
  })
  expect(await conversationsWith(present, account, contact)).toHaveLength(1)
  await makeDue(present, scheduledId)
  expect((await finishedTimeline(present, scheduledId, account.apiKey)).status).toBe('sent')
})

test('a step can be repeated', async () => {
  const [, present] = cells
  const rows = async () => {
    const { rows } = await present.runtime.db.$client.query(
      'select (select count(*) from channels) as channels, (select count(*) from idempotency_keys) as keys',
    )
    return rows
  }
  const before = await rows()
  for (const step of [1, 2, 5]) await move(step)
  expect(await rows()).toEqual(before)
})
