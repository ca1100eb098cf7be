import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ChannelMoment } from '../../../db/receipts/awaited-receipts.ts'
import { createLogger } from '../../../src/platform/log/logger.ts'
import { channelMoments } from '../../../src/sends/channel-moments.ts'
import { eventually } from '../../support/wait.ts'

const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 14, 0, second))

function gather(which: 'first' | 'last', afterMs: number, write?: () => Promise<void>) {
  const written: ChannelMoment[][] = []
  const moments = channelMoments(
    createLogger('silent'),
    which,
    async (batch) => {
      await write?.()
      written.push(batch)
    },
    afterMs,
  )
  return { moments, written }
}

test.each([
  ['first', 1],
  ['last', 3],
] as const)('of many moments of a channel, the %s is written, once', async (which, second) => {
  const { moments, written } = gather(which, 3_600_000)
  for (const one of [1, 2, 3]) moments.note('a', at(one))
  moments.note('b', at(2))
  await moments.flush()
  expect(written).toEqual([
    [
      { channelId: 'a', at: at(second) },
      { channelId: 'b', at: at(2) },
    ],
  ])
  await moments.flush()
  expect(written).toHaveLength(1)
})

test('they are written by themselves after a while, and what comes later is written later', async () => {
  const { moments, written } = gather('first', 20)
  moments.note('a', at(1))
  expect(written).toEqual([])
  await eventually('the first write', async () => written.length === 1)
  await sleep(50)
  expect(written).toHaveLength(1)
  moments.note('a', at(2))
  await eventually('the second write', async () => written.length === 2)
  expect(written.flat().map((moment) => moment.at)).toEqual([at(1), at(2)])
})

test('a write that fails does no harm: later moments are written', async () => {
  let isDown = true
  const { moments, written } = gather('last', 3_600_000, async () => {
    if (isDown) throw new Error('PostgreSQL is away')
  })
  moments.note('a', at(1))
  await moments.flush()
  isDown = false
  moments.note('a', at(2))
  await moments.flush()
  expect(written).toEqual([[{ channelId: 'a', at: at(2) }]])
})
