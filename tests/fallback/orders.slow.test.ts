import { expect, test } from 'vitest'
import { serviceOfFile } from '../support/service.ts'
import { expectAsModel, ordersOfVariants } from './in-every-order.ts'

const service = await serviceOfFile()

/** Each order with some of the variants: all together are a long test (orders.long.ts). */
const some = ordersOfVariants.flatMap((orders, index) =>
  orders.filter((_order, place) => place % ordersOfVariants.length === index || place % 11 === index % 11),
)

test('in every order of answers, receipts of both channels, cancel and replay, a send ends as the tables of receipts and fallbacks say', async () => {
  expect(some.length).toBeGreaterThan(3000)
  await expectAsModel(service, some)
})
