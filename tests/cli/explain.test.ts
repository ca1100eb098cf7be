import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { setTemplate } from '../../db/accounts/templates.ts'
import { channels } from '../../db/schema.ts'
import { absentId } from '../support/absent-id.ts'
import { buildAccount, newContact } from '../support/builders.ts'
import { runCli, startCli } from '../support/cli.ts'
import { kept } from '../support/dry-runs.ts'
import { buildChain } from '../support/fallbacks.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime

async function inWords(channelId: string, ...options: string[]): Promise<string> {
  const given = ['explain', '--channel', channelId, '--to', newContact(), ...options]
  const { status, stdout, stderr } = await startCli(service, {}, ...given).ended
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout
}

test('a message that nothing keeps would be sent now, and nothing is recorded', async () => {
  const { channelId } = await buildAccount(service)
  const before = await kept(service)
  const { status, stdout } = await runCli(service, 'explain', '--channel', channelId, '--to', newContact())
  expect([status, JSON.parse(stdout)]).toMatchObject([
    0,
    { wouldSend: true, waitsFor: [], channelId, suppressed: false, segments: 1, encoding: 'gsm-7' },
  ])
  expect(await kept(service)).toEqual(before)
})

test('it says in words what the message waits for, and where it goes on', async () => {
  const { channels: chain } = await buildChain(service)
  const [first = '', second] = chain
  expect(await inWords(first)).toBe(
    `It would be sent now, by the channel ${first}.\nIf it fails or is reported as undelivered, it goes on by the channel ${second}, within 3600 s.\nAs SMS it takes 1 segment in gsm-7.\n`,
  )
  await db.update(channels).set({ heldAt: new Date() }).where(eq(channels.id, first))
  expect(await inWords(first, '--text', 'Hi', '--priority', 'bulk')).toContain(
    'It waits for its channel, which is held.\n',
  )
  const later = new Date(Date.now() + 3_600_000).toISOString()
  expect(await inWords(first, '--at', later)).toMatch(
    /not before .* UTC.*\nIt waits for the time for which it is scheduled, until .*\nIt waits for its channel, which is held\./,
  )
})

test('a template has its variables, and what would be refused is refused in the words of the API', async () => {
  const { channelId } = await buildAccount(service)
  await setTemplate(db, { channelId, name: 'code', definition: { text: 'Code {{code}}' } })
  const explain = (...options: string[]) =>
    runCli(service, 'explain', '--channel', channelId, '--to', newContact(), ...options)
  expect(await explain('--template', 'code', '--variables', '{"code":"1"}')).toMatchObject({ status: 0 })
  expect((await explain('--template', 'code')).stderr).toContain(
    'message.template.variables: code is missing',
  )
  expect((await explain('--text', ' ')).stderr).toContain('Fix the message: message.text.value')
  expect((await explain('--at', '2020-01-01T00:00:00Z')).stderr).toContain(
    'Fix --at: sendAt: more than 60 s ago',
  )
  expect((await runCli(service, 'explain', '--channel', absentId, '--to', newContact())).stderr).toContain(
    `No channel ${absentId}`,
  )
})
