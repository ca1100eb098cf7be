import { eq } from 'drizzle-orm'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { media } from '../../db/schema.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { attemptedSend, beginAttempt, rowOf, timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

const rejected: AttemptOutcome = { outcome: 'rejected', fault: 'recipient', reason: 'no such number' }

/** Everything that a replay could change. */
const stateOf = async (requestId: string) => [
  await rowOf(service, requestId),
  await timelineOf(service, requestId),
]

/** In one line, with nothing else done. */
async function isRefused(args: string[], hint: string, code = 4) {
  const { status, stdout, stderr } = await runCli(service, 'replay', ...args)
  expect({ status, stdout }).toEqual({ status: code, stdout: '' })
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(stderr).toContain(hint)
}

test('a send that is sent, queued or sending is not replayed', async () => {
  const sent = await attemptedSend(service, account, { outcome: 'sent' })
  const queued = await accept(service, account, textBody())
  const sending = await accept(service, account, textBody())
  await beginAttempt(service, sending, 'at work')
  const hints = { [sent]: 'was sent', [queued]: 'has not ended yet', [sending]: 'has not ended yet' }
  for (const [requestId, hint] of Object.entries(hints)) {
    const before = await stateOf(requestId)
    await isRefused([requestId], hint)
    expect(await stateOf(requestId)).toEqual(before)
  }
})

test.each([uuidv7(), 'x'])('no replay of a send that was never accepted: "%s"', async (requestId) => {
  await isRefused([requestId], 'No send', 3)
})

test('no replay of media that is no longer kept', async () => {
  const mediaBody = { mediaType: 'document', base64: 'YQ==' }
  const requestId = await attemptedSend(service, account, rejected, {
    ...textBody(),
    message: { type: 'media', media: mediaBody },
  })
  await service.runtime.db.delete(media).where(eq(media.requestId, requestId))
  const before = await stateOf(requestId)
  await isRefused([requestId], 'no longer kept')
  expect(await stateOf(requestId)).toEqual(before)
})

test.each([
  [[], 'replay --help'],
  [['--channel', uuidv7()], 'replay --help'],
  [[uuidv7(), '--channel', uuidv7()], 'replay --help'],
  [[uuidv7(), '--status', 'failed'], 'replay --help'],
  [['--channel', uuidv7(), '--status', 'sent'], 'failed, uncertain'],
  [['--channel', uuidv7(), '--status', 'failed'], 'channel list'],
  [['--channel', uuidv7(), '--status', 'failed', '--limit', '0'], '--limit'],
  [['x', 'y'], 'argument'],
])('wrong options are refused: %j', async (args, hint) => {
  await isRefused(args, hint, hint === 'channel list' ? 3 : 64)
})
