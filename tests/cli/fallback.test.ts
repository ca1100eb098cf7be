import { expect, test } from 'vitest'
import { listChannels } from '../../db/accounts/channels.ts'
import { setTemplate } from '../../db/accounts/templates.ts'
import { buildAccount, buildChannel } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime

const update = async (channelId: string, ...options: string[]) => {
  const { status, stdout, stderr } = await runCli(service, 'channel', 'update', channelId, ...options)
  return { status, stderr: stderr.trim(), answer: status === 0 ? JSON.parse(stdout) : undefined }
}

async function buildChannels(count: number) {
  const { accountId, channelId } = await buildAccount(service)
  const ids = [channelId]
  while (ids.length < count) ids.push(await buildChannel(service, accountId))
  const shown = async (id: string | undefined) =>
    (await listChannels(db, accountId)).find((channel) => channel.channelId === id)
  return { accountId, ids: ids as [string, string, string, string], shown }
}

test('--fallback names a channel, --fallback-on and --fallback-within narrow it, and none takes all of it off', async () => {
  const { ids, shown } = await buildChannels(2)
  const [first, second] = ids
  expect(await update(first, '--fallback', second)).toMatchObject({ status: 0, answer: { channelId: first } })
  expect(await shown(first)).toMatchObject({
    ...{ fallbackChannelId: second, fallbackOn: null, fallbackWithinSeconds: null },
  })
  await update(first, '--fallback-on', 'undelivered', '--fallback-within', '60')
  expect(await shown(first)).toMatchObject({
    ...{ fallbackChannelId: second, fallbackOn: ['undelivered'], fallbackWithinSeconds: 60 },
  })
  await update(first, '--fallback', 'none')
  expect(await shown(first)).toMatchObject({
    ...{ fallbackChannelId: null, fallbackOn: null, fallbackWithinSeconds: null },
  })
})

test('channel create takes it too', async () => {
  const { accountId, ids, shown } = await buildChannels(1)
  const options = `--account ${accountId} --provider sandbox --name New --config {} --fallback ${ids[0]}`
  const { status, stdout } = await runCli(service, 'channel', 'create', ...options.split(' '))
  expect(status).toBe(0)
  expect(await shown(JSON.parse(stdout).channelId)).toMatchObject({ fallbackChannelId: ids[0] })
})

test('itself, a circle, a fourth channel, an absent, a deleted and another account’s channel are refused in a sentence', async () => {
  const { ids } = await buildChannels(4)
  const [first, second, third, fourth] = ids
  const stranger = await buildAccount(service)
  await update(first, '--fallback', second)
  await update(second, '--fallback', third)
  const see = '; see: outbound channel list --account ID'
  const refusals = [
    [first, first, 'Fix --fallback: a channel cannot be its own fallback'],
    [third, first, `Fix --fallback: that would be a circle: ${first} falls back on this channel`],
    [third, fourth, 'Fix --fallback: at most 3 channels can follow each other'],
    [fourth, first, 'Fix --fallback: at most 3 channels can follow each other'],
    [third, stranger.channelId, `Fix --fallback: its account has no channel ${stranger.channelId}`],
    [third, 'nothing', 'Fix --fallback: its account has no channel nothing'],
  ] as const
  for (const [channel, fallback, sentence] of refusals)
    expect(await update(channel, '--fallback', fallback)).toMatchObject({
      status: 64,
      stderr: sentence + see,
    })
  await runCli(service, 'channel', 'delete', fourth)
  expect((await update(third, '--fallback', fourth)).stderr).toContain(`its account has no channel ${fourth}`)
  expect((await update(third, '--fallback-within', '60')).stderr).toContain(
    'name one with --fallback CHANNEL',
  )
})

test('what the fallback can’t send is listed as a warning, and set all the same', async () => {
  const { accountId, ids, shown } = await buildChannels(1)
  const [first] = ids
  const config = JSON.stringify({
    accountSid: `AC${'1'.repeat(32)}`,
    authToken: 'a'.repeat(32),
    from: '+15550100000',
  })
  const options = ['--account', accountId, '--provider', 'twilio', '--name', 'SMS', '--config', config]
  const sms = JSON.parse((await runCli(service, 'channel', 'create', ...options)).stdout).channelId
  await setTemplate(db, { channelId: first, name: 'code', definition: { text: '{{code}}' } })
  await setTemplate(db, { channelId: first, name: 'hello', definition: { text: '{{name}}' } })
  await setTemplate(db, {
    channelId: sms,
    name: 'hello',
    definition: { contentSid: `HX${'1'.repeat(32)}`, variables: { 1: 'first' } },
  })
  const { answer } = await update(first, '--fallback', sms)
  const takes = (what: string) =>
    `The fallback SMS does not take ${what}: such a send ends as without a fallback`
  expect(answer).toEqual({
    channelId: first,
    warnings: [
      takes('contacts of the type email'),
      takes('texts of more than 1600 characters'),
      takes('the template code, which is not registered with it'),
      takes('the template hello, which has other variables there'),
    ],
  })
  expect(await shown(first)).toMatchObject({ fallbackChannelId: sms })
})
