import { describe, expect, test } from 'vitest'
import { listChannels } from '../../db/accounts/channels.ts'
import { accept, buildAccount, post, request } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { expectError, expectNothingAccepted } from '../support/expect-error.ts'
import { inSeconds } from '../support/later.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

async function limitedTo(countries: string) {
  const account = await buildAccount(service)
  const { status, stderr } = await update(account.channelId, countries)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return account
}

const update = (channelId: string, countries: string) =>
  runCli(service, 'channel', 'update', channelId, '--countries', countries)

const to = (value: string, type = 'phone') => ({
  contact: { value, type },
  message: { type: 'text', text: { value: 'Hello' } },
})

test('a number of another country is a 400 that says which the channel sends to, and nothing is accepted', async () => {
  const account = await limitedTo('de, AT,CH')
  for (const number of ['+33612345678', '+447400123456', '+12125551234', '+881612345678']) {
    const answer = await post(service, account, to(number))
    expectError(answer, 400, 'contact.value: this channel sends to numbers of DE, AT, CH only')
    await expectNothingAccepted(service, answer)
  }
  for (const number of ['+4915112345678', '+4366412345678', '0041 79 123 45 67'])
    expect((await post(service, account, to(number))).status).toBe(202)
  expect((await post(service, account, to('ann@example.com', 'email'))).status).toBe(202)
})

test('of countries that share a code, the plan of the number decides, and each counts where no plan has it', async () => {
  const account = await limitedTo('US')
  expect((await post(service, account, to('+12125551234'))).status).toBe(202)
  expect((await post(service, account, to('+15550100100'))).status).toBe(202)
  for (const number of ['+18765551234', '+14165551234'])
    expectError(await post(service, account, to(number)), 400, /^contact\.value: /)
})

test('none lets the channel send to all countries again', async () => {
  const account = await limitedTo('DE')
  await update(account.channelId, 'none')
  const [channel] = await listChannels(service.runtime.db, account.accountId)
  expect(channel?.countries).toBeNull()
})

describe('an unknown country is one line, and nothing is changed:', () => {
  test.each(['XX', 'DE,,AT', 'Germany', '49', 'DE,none', ''])('%j', async (countries) => {
    const account = await limitedTo('DE')
    const { status, stdout, stderr } = await update(account.channelId, countries)
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain('Use codes of two letters, e.g. DE,AT,CH; or none')
    const [channel] = await listChannels(service.runtime.db, account.accountId)
    expect(channel?.countries).toEqual(['DE'])
  })
})

test('a scheduled send is not moved to a number of another country', async () => {
  const account = await limitedTo('DE')
  const requestId = await accept(service, account, { ...to('+4915112345678'), sendAt: inSeconds(3600) })
  const answer = await request(service, `/v1/messages/${requestId}`, {
    method: 'PATCH',
    headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ contact: { value: '+33612345678' } }),
  })
  expectError(answer, 400, 'contact.value: this channel sends to numbers of DE only')
})
