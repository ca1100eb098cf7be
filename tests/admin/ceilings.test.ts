import { expect, test } from 'vitest'
import { startTestAdmin } from '../support/admin.ts'
import { buildAccount } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { getPage } from '../support/pages.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()

test('the pages of an account and of a channel say which ceilings they have', async (context) => {
  const admin = await startTestAdmin(service)
  context.onTestFinished(() => admin.stop())
  const { accountId, channelId } = await buildAccount(service)
  await runCli(service, 'account', 'update', accountId, '--ceiling', '10 messages/day')
  await runCli(
    service,
    'channel',
    'update',
    channelId,
    '--ceiling',
    '5 segments/hour',
    '--ceiling',
    '7 messages/hour',
  )
  expect((await getPage(`${admin.url}/accounts/${accountId}`)).text).toContain('10 messages/day')
  expect((await getPage(`${admin.url}/channels/${channelId}`)).text).toContain(
    '7 messages/hour, 5 segments/hour',
  )
})
