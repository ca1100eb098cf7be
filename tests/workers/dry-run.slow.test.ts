import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { moveGivenSends } from '../../db/admission/scheduled-sends.ts'
import { permits as permitsTable, sends } from '../../db/schema.ts'
import { findExplanation } from '../../db/sends/explanation.ts'
import type { DryRun } from '../../src/sends/dry-run.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { createClaim } from '../../workers/sends/claim.ts'
import { accept } from '../support/builders.ts'
import { answeredDryRun } from '../support/dry-runs.ts'
import { livingWorker } from '../support/living-worker.ts'
import { type Random, randomOf } from '../support/random.ts'
import { buildWorld, type RandomWorld } from '../support/random-worlds.ts'
import { serviceOfFile } from '../support/service.ts'

/** More by `DRY_RUN_WORLDS`, from another seed by `SEED`. */
const worlds = Number(process.env.DRY_RUN_WORLDS ?? 200)
const seed = Number(process.env.SEED ?? 1)

const service = await serviceOfFile()
const { db } = service.runtime
const { worker } = await livingWorker(service, 'a')
const permits = createPermits(service.runtime)
const claim = createClaim(service.runtime, worker, permits)

type Said = Omit<DryRun, 'dueAt' | 'waitsFor'> & {
  dueAt: string | null
  waitsFor: { reason: string; until: string | null }[]
}

/** What a worker did with a send: it may call, it failed, or it waits. */
interface Done {
  what: 'sent' | 'failed' | string
  channelId: string
  reason: string | null
  until: Date | null
  expiresAt: Date | null
}

/** A worker wakes the send, as often as that changes something. */
async function advance(requestId: string, { account }: RandomWorld): Promise<Done> {
  let before: string | undefined
  let channelBefore = account.channelId
  for (;;) {
    const claimed = await claim(requestId)
    const [row] = await db.select().from(sends).where(eq(sends.requestId, requestId))
    if (!row) throw new Error(`no send ${requestId}`)
    const { channelId, failure: reason, expiresAt } = row
    const done = { channelId, reason, until: null, expiresAt }
    if ('send' in claimed && claimed.send.requestId === requestId) return { ...done, what: 'sent' }
    if (row.finishedAt) return { ...done, what: 'failed' }
    // One that fell back is looked at again on its new channel.
    const wasAnother = 'send' in claimed && channelId === channelBefore
    const after = JSON.stringify([channelId, row.nextAttemptAt])
    if (after === before || wasAnother) return { ...done, ...(await waitOf(requestId, wasAnother)) }
    before = after
    channelBefore = channelId
  }
}

async function waitOf(requestId: string, wasAnother: boolean): Promise<Pick<Done, 'what' | 'until'>> {
  if (wasAnother) return { what: 'more_urgent', until: null }
  const found = await findExplanation(db, requestId)
  const { wait } = found?.facts ?? {}
  const isPostponed = found?.events.at(-1)?.event === 'postponed'
  const [permit] = await db.select().from(permitsTable).where(eq(permitsTable.requestId, requestId))
  return {
    what: wait?.name === 'retry' && isPostponed ? 'quiet_hours' : (wait?.name ?? 'nothing'),
    until: permit?.callAt ?? wait?.until ?? null,
  }
}

/** Some of what waits before it is being sent. */
async function claimSome(random: Random, { waiting }: RandomWorld): Promise<void> {
  for (const requestId of waiting.slice(0, 3)) if (random() < 0.3) await claim(requestId)
}

/** Between the dry run and the send, a grant of permits begins some milliseconds later. */
const toleranceMs = 2000

function expectSame(said: Said, done: Done): void {
  const [first] = said.waitsFor
  if (!first) {
    const { reason, channelId } = said
    expect(done).toMatchObject({ what: said.wouldSend ? 'sent' : 'failed', reason, channelId })
    return
  }
  expect(done).toMatchObject({ what: first.reason, channelId: said.channelId })
  if (first.until !== null)
    expect(Math.abs(Date.parse(first.until) - (done.until?.getTime() ?? 0))).toBeLessThan(toleranceMs)
  const lasts = Math.max(0, ...said.waitsFor.map(({ until }) => Date.parse(until ?? '') || 0))
  const expires = done.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
  expect(said.wouldSend).toBe(expires > lasts)
  expect(said.reason).toBe(said.wouldSend ? null : 'expired')
}

/** Of a later send, what doesn't depend on its time. */
async function expectSameLater(said: Said, requestId: string, world: RandomWorld): Promise<void> {
  await moveGivenSends(db, [requestId])
  const done = await advance(requestId, world)
  expect(done).toMatchObject({ channelId: said.channelId })
  if (!said.wouldSend && said.waitsFor.length === 0) {
    expect(done).toMatchObject({ what: 'failed', reason: said.reason })
    return
  }
  expect(said.waitsFor[0]).toEqual({ reason: 'scheduled', until: world.body.sendAt })
  expect(said.waitsFor.some(({ reason }) => reason === 'held')).toBe(done.what === 'held')
}

test(`in ${worlds} random worlds, a worker does with a send what the dry run said`, async () => {
  const counts = new Map<string, number>()
  for (let n = 0; n < worlds; n++) {
    const random = randomOf(seed, `world ${n}`)
    const world = await buildWorld(service, random)
    await claimSome(random, world)
    const { body } = await answeredDryRun(service, world.account, world.body)
    const requestId = await accept(service, world.account, world.body)
    const said = body as Said
    try {
      if (said.waitsFor[0]?.reason === 'scheduled' || world.body.sendAt)
        await expectSameLater(said, requestId, world)
      else expectSame(said, await advance(requestId, world))
      const after = world.channelIds.slice(world.channelIds.indexOf(said.channelId) + 1)
      const isOver = !said.wouldSend && said.waitsFor.length === 0
      expect(said.fallbacks.map(({ channelId }) => channelId)).toEqual(isOver ? [] : after)
    } catch (error) {
      throw new Error(`world ${n} of seed ${seed}: the dry run said ${JSON.stringify(said)}`, {
        cause: error,
      })
    }
    const kind = said.waitsFor[0]?.reason ?? said.reason?.split(':')[0] ?? 'sent'
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  // Each kind is among them.
  const kinds = ['sent', 'held', 'quiet_hours', 'behind', 'breaker_open', 'waits_for_permit', 'slow_start']
  for (const kind of [...kinds, 'more_urgent', 'scheduled', 'suppressed'])
    expect([kind, counts.get(kind) ?? 0]).toEqual([kind, expect.toSatisfy((count: number) => count > 0)])
}, 3_600_000)
