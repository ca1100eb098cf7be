import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { channels } from '../../db/schema.ts'
import type { ShownConfig } from '../../src/core/channels/shown-config.ts'
import { warnOfPlainChannels } from '../../workers/plain-channels.ts'
import { buildAccount, buildChannel } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile({ ALLOWED_PRIVATE_NETWORKS: '' })
const account = await buildAccount(service)

async function withConfig(name: string, shownConfig: ShownConfig): Promise<string> {
  const channelId = await buildChannel(service, account.accountId)
  await service.runtime.db.update(channels).set({ name, shownConfig }).where(eq(channels.id, channelId))
  return channelId
}

test('channels that may call public hosts in plain text are named by the list and by a worker at its start, others are not', async () => {
  const plain = [
    await withConfig('Plain hook', { url: 'http://example.com' }),
    await withConfig('Plain API', { baseUrl: 'http://93.184.216.34' }),
    await withConfig('Plain mail', { host: 'mail.example.com', secure: false, requireTls: false }),
  ]
  await withConfig('Inside', { url: 'http://10.0.0.1' })
  await withConfig('Here', { url: 'http://localhost:4000' })
  await withConfig('Secure', { url: 'https://example.com' })
  await withConfig('Mail by TLS', { host: 'mail.example.com', secure: true, requireTls: false })
  await withConfig('Mail', { host: 'mail.example.com', secure: false })
  const { stdout } = await runCli(service, 'channel', 'list', '--account', account.accountId)
  const listed: { channelId: string; warning?: string }[] = JSON.parse(stdout).channels
  const warned = listed.filter(({ warning }) => warning !== undefined)
  expect(warned.map(({ channelId }) => channelId)).toEqual(plain)
  expect(stdout).not.toContain('shownConfig')

  await warnOfPlainChannels(service.runtime)
  const lines = service.logs.filter(({ event }) => event === 'channels_in_clear')
  expect(lines).toMatchObject([{ channels: ['Plain hook', 'Plain API', 'Plain mail'], count: 3 }])
})
