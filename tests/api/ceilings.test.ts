import { expect, test } from 'vitest'
import { setCeilings } from '../../db/ceilings/ceilings.ts'
import { parseCeiling } from '../../src/core/accounts/ceiling.ts'
import {
  type Account,
  accept,
  buildAccount,
  newContact,
  post,
  request,
  textBody,
} from '../support/builders.ts'
import { answeredDryRun, dryRun } from '../support/dry-runs.ts'
import { expectError } from '../support/expect-error.ts'
import { inSeconds } from '../support/later.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

/** An account whose channel, or which itself, has these ceilings. No worker runs. */
async function buildLimited(of: 'account' | 'channel', ...texts: string[]): Promise<Account> {
  const account = await buildAccount(service)
  const ownerId = of === 'account' ? account.accountId : account.channelId
  const wanted = texts.map(parseCeiling).filter((one) => one !== undefined)
  await setCeilings(service.runtime.db, { ownerId, accountId: account.accountId }, wanted)
  return account
}

const nextMonth = () => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1))
}

test.each(['account', 'channel'] as const)(
  'a send beyond the ceiling of its %s is a 429 that names it, with the time until it ends',
  async (of) => {
    const account = await buildLimited(of, '2 messages/month', '100 messages/hour')
    for (let i = 0; i < 2; i++) await accept(service, account, textBody())
    const answer = await post(service, account, textBody())
    const ends = nextMonth()
    expectError(
      answer,
      429,
      `The ceiling of 2 messages/month of the ${of} is reached until ${ends.toISOString().slice(0, 10)} 00:00 UTC. Send again then.`,
    )
    expect(answer.headers.get('error-code')).toBe('ceiling_reached')
    const seconds = (ends.getTime() - Date.now()) / 1000
    expect(Math.abs(Number(answer.headers.get('retry-after')) - seconds)).toBeLessThan(30)
  },
)

test('a scheduled send is accepted beyond the ceiling, and the repeat of an accepted one is answered', async () => {
  const account = await buildLimited('channel', '1 message/month')
  const body = textBody()
  const headers = { 'Idempotency-Key': 'one' }
  const first = await post(service, account, body, headers)
  expect(first.status).toBe(202)
  expectError(await post(service, account, textBody()), 429, /^The ceiling of 1 messages\/month/)
  const repeated = await post(service, account, body, headers)
  expect([repeated.status, repeated.body]).toEqual([202, first.body])
  await accept(service, account, { ...textBody(), sendAt: inSeconds(3600) })
})

test('of requests that come at once, as many are accepted as the ceiling allows', async () => {
  const account = await buildLimited('account', '5 messages/day')
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(service, account, textBody())))
  expect(answers.map(({ status }) => status).filter((status) => status === 202)).toHaveLength(5)
})

test('segments count: the text that would pass the ceiling is refused, a shorter one accepted', async () => {
  const account = await buildLimited('channel', '3 segments/day')
  await accept(service, account, textBody('a'.repeat(161)))
  expectError(
    await post(service, account, textBody('a'.repeat(161))),
    429,
    /^The ceiling of 3 segments\/day of the channel/,
  )
  await accept(service, account, textBody('a', newContact()))
  expectError(await post(service, account, textBody('a')), 429)
})

test('a batch that would pass the ceiling is refused as a whole, and counts nothing', async () => {
  const account = await buildLimited('account', '3 messages/day')
  const batch = (count: number) =>
    request(service, '/v1/messages/batch', {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        messages: Array.from({ length: count }, () => ({ channelId: account.channelId, ...textBody() })),
      }),
    })
  expectError(await batch(4), 429, /^The ceiling of 3 messages\/day of the account/)
  expect((await batch(3)).status).toBe(202)
  expectError(await batch(1), 429)
})

test('a dry run uses nothing of a ceiling up, and is refused as the send would be', async () => {
  const account = await buildLimited('channel', '1 message/month')
  for (let i = 0; i < 2; i++) await answeredDryRun(service, account, textBody())
  await accept(service, account, textBody())
  const refused = await post(service, account, textBody())
  const dry = await dryRun(service, account, textBody())
  expectError(dry, 429, /^The ceiling of 1 messages\/month of the channel/)
  expect(dry.headers.get('error-code')).toBe('ceiling_reached')
  expect(dry.body.message).toBe(refused.body.message)
})
