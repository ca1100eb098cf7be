import { expect, test } from 'vitest'
import { serviceOfFile } from '../support/service.ts'
import { expectAsModel, ordersOfVariants } from './in-every-order.ts'

const service = await serviceOfFile()
/** Their timelines are read one by one. */
const withinMs = 3_600_000

test(
  'in all orders of all answers, receipts, cancel and replay, a send ends as the tables of receipts and fallbacks say',
  async () => {
    expect(ordersOfVariants.flat()).toHaveLength(60_480)
    for (const orders of ordersOfVariants) await expectAsModel(service, orders)
  },
  withinMs,
)
