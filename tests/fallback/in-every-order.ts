import { v7 as uuidv7 } from 'uuid'
import { expect } from 'vitest'
import { claimSends } from '../../db/delivery/claims.ts'
import { sends } from '../../db/schema.ts'
import { cancelSends } from '../../db/sends/cancel.ts'
import { replaySend } from '../../db/sends/replays.ts'
import { createEndSends } from '../../src/sends/end-sends.ts'
import { buildSendRow, namesOf, timelineOf } from '../support/attempts.ts'
import { newContact } from '../support/builders.ts'
import { buildChain } from '../support/fallbacks.ts'
import { groupBy } from '../support/group-by.ts'
import { livingWorker } from '../support/living-worker.ts'
import { buildReceipt } from '../support/receipts.ts'
import { type TestService, testSuppressionKey } from '../support/service.ts'
import { after, begun, type State, type Step } from './model.ts'

/** All orders of some steps. @param follows those that come only after another one. */
function orders(steps: readonly Step[], follows: (step: Step) => Step | undefined): Step[][] {
  if (steps.length === 0) return [[]]
  return [...new Set(steps)].flatMap((first) => {
    const before = follows(first)
    if (before && steps.includes(before)) return []
    const rest = [...steps]
    rest.splice(rest.indexOf(first), 1)
    return orders(rest, follows).map((order) => [first, ...order])
  })
}

/** B's provider knows nothing of a send that B never had. */
const onlyAfter = (step: Step): Step | undefined =>
  step.startsWith('B ') && step !== 'B claims' ? 'B claims' : undefined

/** The outcomes of each channel's call and of B's receipt, and how else the send is ended. */
const variants = (['A sent', 'A rejected', 'A uncertain'] as const).flatMap((a) =>
  (['B sent', 'B rejected', 'B uncertain'] as const).flatMap((b) =>
    (['B delivered', 'B undelivered'] as const).flatMap((receipt) =>
      (['cancel', 'replay'] as const).map((end): Step[] => [a, b, receipt, end]),
    ),
  ),
)

/** Every order of the steps, for each variant. */
export const ordersOfVariants: Step[][][] = variants.map((variant) =>
  orders(['A delivered', 'A undelivered', 'B claims', ...variant], onlyAfter),
)

interface Going {
  requestId: string
  order: Step[]
  state: State
  claimB: string | undefined
}

const pages = <Item>(items: readonly Item[], size = 200): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, page) =>
    items.slice(page * size, (page + 1) * size),
  )

async function take(world: World, step: Step, page: readonly Going[]): Promise<void> {
  const { db, channelA, channelB, ends } = world
  const ids = page.map(({ requestId }) => requestId)
  const [channel, word] = step.split(' ') as ['A' | 'B', string]
  if (step === 'cancel') await cancelSends(db, ids)
  else if (step === 'replay') for (const id of ids) await replaySend(db, id)
  else if (step === 'B claims') {
    // A send that was replayed on A isn't B's to claim.
    const theirs = page.filter(({ state }) => state.on === 'B').map(({ requestId }) => requestId)
    const by = { id: uuidv7(), worker: 'b', suppressionKey: testSuppressionKey, inAnyOrder: false }
    const claimed = new Set((await claimSends(db, theirs, by)).map(({ requestId }) => requestId))
    for (const going of page) if (claimed.has(going.requestId)) going.claimB = by.id
  } else if (word === 'delivered' || word === 'undelivered') {
    const channelId = channel === 'A' ? channelA : channelB
    const rows = ids.map((id) => buildReceipt(id, channelId, word, { providerMessageId: `${channel}-${id}` }))
    // B has no fallback.
    const fallsBackFrom = step === 'A undelivered' ? ('sandbox' as const) : undefined
    await ends.recordReceipts(rows.map((row) => ({ ...row, fallsBackFrom })))
  } else await answer(world, channel, word as 'sent' | 'rejected' | 'uncertain', page)
}

async function answer(
  { channelA, claimA, ends }: World,
  channel: 'A' | 'B',
  outcome: 'sent' | 'rejected' | 'uncertain',
  page: readonly Going[],
) {
  const status = outcome === 'rejected' ? ('failed' as const) : outcome
  const rows = page.map(({ requestId, claimB }) => ({
    ...{ requestId, status, delayMs: undefined },
    claimId: channel === 'A' ? claimA : (claimB ?? uuidv7()),
    reason: outcome === 'sent' ? undefined : 'not reached',
    ...(channel === 'A' && {
      mayFallBack: { requestId, channelId: channelA, provider: 'sandbox' as const },
    }),
    record: {
      ...{
        attempt: channel === 'A' ? 1 : 2,
        outcome,
        durationMs: 5,
        providerStatus: null,
        providerCode: null,
      },
      providerMessageId: outcome === 'sent' ? `${channel}-${requestId}` : null,
      ...(outcome !== 'sent' && { fault: 'recipient' as const }),
    },
  }))
  await ends.recordOutcomes(rows)
}

async function openWorld(service: TestService) {
  const { account, channels } = await buildChain(service)
  const [channelA = '', channelB = ''] = channels
  const { db } = service.runtime
  return { db, account, channelA, channelB, claimA: uuidv7(), ends: createEndSends(service.runtime) }
}

type World = Awaited<ReturnType<typeof openWorld>>

/** Takes a send through each of the orders, which are of the same length, and expects that it ends as the model says. */
export async function expectAsModel(service: TestService, every: readonly Step[][]): Promise<void> {
  const world = await openWorld(service)
  const { db, account, channelA, channelB, claimA } = world
  await livingWorker(service, 'b')
  const going = every.map((order): Going => ({ requestId: uuidv7(), order, state: begun, claimB: undefined }))
  for (const page of pages(going, 500))
    await db.insert(sends).values(
      page.map(({ requestId }) =>
        buildSendRow(account, {
          ...{
            requestId,
            status: 'sending',
            attempt: 1,
            worker: 'one',
            claimId: claimA,
            claimedAt: new Date(),
          },
          ...{ conversationId: uuidv7(), contactValue: newContact() },
        }),
      ),
    )
  for (const place of (every[0] ?? []).keys()) {
    const byStep = groupBy(going, ({ order }) => order[place] ?? '') as Map<Step, Going[]>
    for (const [step, ofStep] of byStep) {
      for (const page of pages(ofStep)) {
        await take(world, step, page)
        for (const one of page) one.state = after(one.state, step)
      }
    }
  }
  for (const { requestId, order, state } of going) {
    const timeline = await timelineOf(service, requestId)
    const { status, delivery, sentThrough } = timeline
    const expected = state.fell ? (state.on === 'B' ? channelB : channelA) : null
    expect({ order, status, delivery, sentThrough }).toEqual({
      ...{ order, status: state.status, delivery: state.delivery, sentThrough: expected },
    })
    expect(namesOf(timeline).filter((name) => name === 'fell_back')).toHaveLength(state.fell ? 1 : 0)
  }
}
