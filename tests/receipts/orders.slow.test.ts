import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { recordOutcomes } from '../../db/delivery/outcomes.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { sends } from '../../db/schema.ts'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import { buildSendRow, timelineOf } from '../support/attempts.ts'
import { buildAccount } from '../support/builders.ts'
import { buildReceipt } from '../support/receipts.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

type Step = ReceiptKind | 'answer'

/** All orders of some steps, of which some are equal. */
function orders(steps: readonly Step[]): Step[][] {
  if (steps.length === 0) return [[]]
  return [...new Set(steps)].flatMap((first) => {
    const rest = [...steps]
    rest.splice(rest.indexOf(first), 1)
    return orders(rest).map((order) => [first, ...order])
  })
}

const doubled: Step[] = ['accepted', 'delivered', 'read', 'accepted', 'delivered', 'read']

test.each(['sent', 'uncertain'] as const)(
  'in every order of sent, delivered and read, each twice, before and after the answer to the call (%s), the send ends sent and read, each told once',
  async (answer) => {
    const all = orders([...doubled, 'answer'])
    expect(all).toHaveLength(630)
    const { db } = service.runtime
    const claimId = uuidv7()
    const rows = all.map(() =>
      buildSendRow(account, {
        ...{ status: 'sending', attempt: 1, worker: 'one', claimId, claimedAt: new Date() },
        conversationId: uuidv7(),
      }),
    )
    await db.insert(sends).values(rows)
    for (const step of [...doubled, 'answer'].keys()) {
      const now = all.map((order, index) => ({ step: order[step], requestId: rows[index]?.requestId ?? '' }))
      await recordReceipts(
        db,
        now.flatMap(({ step, requestId }) =>
          step === 'answer' || !step ? [] : buildReceipt(requestId, account.channelId, step),
        ),
      )
      const answered = now.filter(({ step }) => step === 'answer')
      await recordOutcomes(
        db,
        answered.map(({ requestId }) => ({
          ...{ requestId, claimId, status: answer, delayMs: undefined },
          reason: answer === 'sent' ? undefined : 'connection lost',
          record: {
            ...{ attempt: 1, outcome: answer, durationMs: 5, providerStatus: null, providerCode: null },
            providerMessageId: answer === 'sent' ? `wamid.${requestId}` : null,
          },
        })),
      )
    }
    for (const [index, { requestId }] of rows.entries()) {
      const { status, delivery, events } = await timelineOf(service, requestId)
      const told = events.flatMap((event) =>
        'providerStatus' in event && event.event !== 'attempt_finished' ? [event.providerStatus] : [],
      )
      expect({ order: all[index], status, delivery, told: told.sort() }).toEqual({
        order: all[index],
        status: 'sent',
        delivery: 'read',
        told: ['delivered', 'read', 'sent'],
      })
      expect(events.filter(({ event }) => event === 'sent')).toHaveLength(1)
      expect(events.filter(({ event }) => event === 'read')).toHaveLength(1)
    }
  },
)

test('all of them in one request end the same', async () => {
  const all = orders(doubled)
  const { db } = service.runtime
  const rows = all.map(() => buildSendRow(account, { status: 'sent', finishedAt: new Date(), attempt: 1 }))
  await db.insert(sends).values(rows)
  await recordReceipts(
    db,
    all.flatMap((order, index) =>
      order.map((kind) => buildReceipt(rows[index]?.requestId ?? '', account.channelId, kind as ReceiptKind)),
    ),
  )
  for (const { requestId } of rows) {
    const { delivery, events } = await timelineOf(service, requestId)
    expect(delivery).toBe('read')
    expect(events.filter((event) => 'providerAt' in event)).toHaveLength(3)
  }
})
