import { z } from 'zod'
import { receiptBody, receiptList } from '../../core/receipts/receipt-body.ts'
import { tooLarge } from '../body/receive.ts'
import { unavailable, wrongMethod } from '../errors.ts'
import { notProven, tooManyUnproven } from '../receipts/check-proof.ts'
import { unreadable } from '../receipts/read-receipts.ts'
import { maxReceiptBytes } from '../receipts/read-request.ts'
import { readRefusals } from './body-refusals.ts'
import { noSuchChannel } from './channels.ts'
import { exampleReceipt } from './examples.ts'
import type { Route } from './route.ts'
import { named } from './schemas.ts'

const refusals = {
  notProven: { summary: 'The signature or token is wrong', error: notProven },
  noSuchChannel: { ...noSuchChannel, summary: 'The channel does not exist, or takes no receipts' },
  tooManyUnproven: {
    summary: 'Too many wrong signatures from this address',
    error: () => tooManyUnproven(42),
  },
  unavailable: { summary: 'PostgreSQL does not answer in time', error: unavailable },
}

const handshake = z.string()

/** The routes by which providers report. Their steps are in src/api/receive-receipt.ts. */
export const receiptRoutes = {
  receiveReceipts: {
    method: 'post',
    path: '/receipts/:channelId',
    tag: 'Receipts',
    isInternal: true,
    summary: 'What a provider reports about messages that it has accepted',
    description:
      "For providers, and for receivers of a webhook channel. Signed or authorized as the channel's provider does it; it needs no API key. A 200 means that all receipts of the request are recorded.",
    params: { channelId: { what: 'The channel that sent the messages.' } },
    body: {
      description: "In the form of the channel's provider. The JSON is that of a webhook channel.",
      schema: z.xor([named('WebhookReceipt', receiptBody), receiptList]),
      examples: {
        one: { summary: 'One receipt', value: exampleReceipt },
        list: { summary: 'Several', value: [exampleReceipt] },
      },
      otherTypes: ['application/x-www-form-urlencoded', 'message/rfc822'],
    },
    answer: { what: 'All receipts are recorded.' },
    refusals: {
      ...readRefusals,
      unreadable: { summary: 'The receipts cannot be read', error: () => unreadable('body: has to be JSON') },
      tooLargeReceipts: { summary: 'The body is too large', error: () => tooLarge(maxReceiptBytes) },
      ...refusals,
    },
  },
  checkReceipts: {
    method: 'get',
    path: '/receipts/:channelId',
    tag: 'Receipts',
    isInternal: true,
    summary: "A provider's check of the address for receipts",
    description: 'The handshake of WhatsApp: with the right token, the answer is its challenge.',
    params: { channelId: { what: 'The channel.' } },
    query: {
      parameters: {
        'hub.mode': { schema: handshake, what: 'As WhatsApp sends it.' },
        'hub.verify_token': { schema: handshake, what: "The token of the channel's config." },
        'hub.challenge': { schema: handshake, what: 'What the answer repeats.' },
      },
    },
    answer: { what: 'The challenge.', types: ['text/plain'] },
    refusals: {
      ...refusals,
      wrongMethodOfCheck: {
        summary: "The channel's provider checks no address",
        error: () => wrongMethod(['POST']),
      },
    },
  },
} as const satisfies Record<string, Route>
