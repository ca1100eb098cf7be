import { expect, test } from 'vitest'
import { createAccount } from '../../db/accounts/accounts.ts'
import { listChannels } from '../../db/accounts/channels.ts'
import { buildChannel } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const accountId = await createAccount(service.runtime.db, 'Acme')
const channelId = await buildChannel(service, accountId)

const update = (...options: string[]) => runCli(service, 'channel', 'update', channelId, ...options)

const hours = async () => (await listChannels(service.runtime.db, accountId))[0]?.quietHours

async function change(...options: string[]) {
  const { status, stderr } = await update(...options)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return await hours()
}

test('quiet hours have the clock of the contact, and hold for normal and bulk sends; what is not given stays', async () => {
  const given = {
    from: '21:00',
    until: '08:00',
    byContact: true,
    zone: 'UTC',
    priorities: ['normal', 'bulk'],
  }
  expect(await change('--quiet-hours', '21:00-08:00')).toEqual(given)
  expect(await change('--quiet-zone', 'contact,Europe/Berlin')).toEqual({ ...given, zone: 'Europe/Berlin' })
  expect(await change('--quiet-for', 'urgent,bulk')).toEqual({
    ...given,
    zone: 'Europe/Berlin',
    priorities: ['urgent', 'bulk'],
  })
  expect(await change('--quiet-hours', '22:00-07:30')).toMatchObject({ from: '22:00', zone: 'Europe/Berlin' })
  expect(await change('--quiet-zone', 'America/New_York')).toMatchObject({
    byContact: false,
    zone: 'America/New_York',
  })
  expect(await change('--quiet-hours', 'none')).toBeNull()
})

test.each([
  [['--quiet-hours', '21-8'], 'two different times'],
  [['--quiet-hours', '21:00-21:00'], 'two different times'],
  [['--quiet-hours', '25:00-08:00'], 'two different times'],
  [['--quiet-hours', '00:00-24:00'], 'two different times'],
  [['--quiet-hours', '21:00'], 'two different times'],
  [['--quiet-hours', '21:00-08:00', '--quiet-zone', 'Mars/Base'], 'IANA name'],
  [['--quiet-hours', '21:00-08:00', '--quiet-zone', '+02:00'], 'IANA name'],
  [['--quiet-hours', '21:00-08:00', '--quiet-for', 'slow'], 'urgent,normal,bulk'],
  [['--quiet-hours', '21:00-08:00', '--quiet-for', ''], 'urgent,normal,bulk'],
  [['--quiet-hours', 'none', '--quiet-zone', 'contact'], 'takes no --quiet-zone'],
  [['--quiet-zone', 'contact'], 'no quiet hours'],
])('%j is refused in one line, and nothing changes', async (options, words) => {
  await update('--quiet-hours', 'none')
  const { status, stderr } = await update(...options)
  expect({ status, lines: stderr.trim().split('\n').length }).toEqual({ status: 64, lines: 1 })
  expect(stderr).toContain(words)
  expect(await hours()).toBeNull()
})
