import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { buildAccount, post, request, textBody } from '../support/builders.ts'
import { expectError, expectNothingAccepted } from '../support/expect-error.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

async function withoutTable(work: () => Promise<void>) {
  const { db } = service.runtime
  await db.execute(sql`alter table sends rename column flow_id to elsewhere`)
  await work()
  await db.execute(sql`alter table sends rename column elsewhere to flow_id`)
}

test('an internal error shows no internals to the client, and is in the log under its requestId', async () => {
  await withoutTable(async () => {
    const sent = await post(service, account, textBody('a secret'))
    const read = await request(service, `/v1/messages/${sent.body.requestId}`, {
      headers: { Authorization: `Bearer ${account.apiKey}` },
    })
    for (const answer of [sent, read]) {
      expectError(answer, 500)
      expect(JSON.stringify(answer.body)).not.toMatch(
        /sends|relation|select|insert|postgres|\.ts|node_modules/i,
      )
      expect(service.logsOf(answer.body.requestId).map(({ event }) => event)).toEqual(['crashed', 'rejected'])
    }
    expect(JSON.stringify(service.logs)).not.toMatch(/a secret|4915112345678/)
  })
})

test('a send that was answered 500 is neither recorded nor enqueued, and the next one is accepted', async () => {
  let answer = await post(service, account, textBody())
  await withoutTable(async () => {
    answer = await post(service, account, textBody())
  })
  expectError(answer, 500)
  await expectNothingAccepted(service, answer)
  expect((await post(service, account, textBody())).status).toBe(202)
})
