import { z } from 'zod'
import { usageQuery } from '../../core/accounts/usage-query.ts'
import { priorities } from '../../core/sends/priority.ts'
import { exampleIds } from './examples.ts'
import type { Route } from './route.ts'
import { count, named, ofRequest, text, uuid } from './schemas.ts'

const sums = {
  accepted: count('The sends that were accepted, scheduled ones included.'),
  sent: count('Of these, those whose message the provider accepted.'),
  delivered: count('Of these, those that were reported as delivered or read.'),
  undelivered: count('Of the sent ones, those that were reported as undelivered.'),
  failed: count('Those that failed.'),
  uncertain: count('Those of which the provider may or may not have the message.'),
  canceled: count('Those that were canceled.'),
  segments: count('The segments of all that were accepted and go as SMS.'),
}

const cost = z
  .record(z.string(), z.string())
  .describe(
    'What they cost, by currency, as decimal numbers, as far as providers have said it: `{}` if none has.',
  )

const usage = named(
  'Usage',
  z
    .object({
      day: text('The day, in UTC. Null unless it is by day.').nullable(),
      month: text('The month, in UTC. Null unless it is by month.').nullable(),
      channelId: uuid('The channel of the request. Null unless it is by channel.').nullable(),
      channelName: text('Its name.').nullable(),
      priority: z.enum(priorities).nullable().describe('The priority. Null unless it is by priority.'),
      ...sums,
      cost,
    })
    .describe('What was accepted, and what it is now.'),
)

const example = {
  ...{
    day: null,
    month: null,
    channelId: exampleIds.channelId,
    channelName: 'Order updates',
    priority: null,
  },
  ...{ accepted: 1210, sent: 1200, delivered: 1180, undelivered: 12, failed: 6, uncertain: 0, canceled: 4 },
  segments: 1498,
  cost: { EUR: '104.86' },
}

/** The route by which an account reads what it has used. */
export const usageRoutes = {
  getUsage: {
    method: 'get',
    path: '/v1/usage',
    tag: 'Usage',
    permissions: ['usage:read'],
    limit: 'read',
    summary: 'Read how many messages the account sent, by day, month and channel',
    description:
      "For an invoice. A send counts on the day of its accept, in UTC, as what it is now. The sum of days is that of the month, the sum of channels that of the account. Reading doesn't count for the account's rate limit, but for the limit of the key.",
    query: usageQuery,
    answer: {
      what: 'The usage: one item, or one for each group that has sends.',
      schema: named(
        'UsageList',
        z
          .object({
            ...ofRequest,
            from: text('The first day.'),
            to: text('The day after the last one.'),
            usage: z.array(usage).describe('The sums, in the order of days and channel names.'),
          })
          .describe('The usage of the account.'),
      ),
      example: { requestId: exampleIds.requestId, from: '2026-10-01', to: '2026-11-01', usage: [example] },
    },
    index: { name: 'usage', what: 'The route that returns the usage of the account.' },
  },
} as const satisfies Record<string, Route>
