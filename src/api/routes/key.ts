import { z } from 'zod'
import { permissions } from '../../core/accounts/api-key.ts'
import { exampleIds } from './examples.ts'
import type { Route } from './route.ts'
import { count, named, ofRequest, text, time, uuid } from './schemas.ts'

const rateLimit = z
  .object({
    points: count('The number of requests that the account may send'),
    seconds: count('in so many seconds.'),
  })
  .describe('The rate limit of the account.')

const key = z
  .object({
    ...ofRequest,
    accountId: uuid('The account of the key.'),
    accountName: text('Its name.'),
    keyId: uuid('The id of the key. The operator revokes the key by it.'),
    permissions: z.array(z.enum(permissions)).describe('What the key may do. Others may be added.'),
    expiresAt: time('When the key expires. Null if it does not.').nullable(),
    rateLimit,
  })
  .describe('The API key of the request.')

const { requestId, channelId, flowId } = exampleIds

/** The route by which a client sees which key it has. */
export const keyRoutes = {
  getKey: {
    method: 'get',
    path: '/v1/key',
    tag: 'Keys',
    permissions,
    limit: 'read',
    summary: 'Read the API key of the request, and its account',
    description:
      "For a check of the configuration: whose key it is, what it may do, and until when. Any permission is enough. Reading doesn't count for the account's rate limit, but for the limit of the key.",
    answer: {
      what: 'The key.',
      schema: named('Key', key),
      example: {
        requestId,
        accountId: flowId,
        accountName: 'Acme',
        keyId: channelId,
        permissions: ['messages:send', 'messages:read'],
        expiresAt: '2027-02-19T12:43:12.301Z',
        rateLimit: { points: 600, seconds: 60 },
      },
    },
    index: { name: 'key', what: 'The route that returns the API key of the request.' },
  },
} as const satisfies Record<string, Route>
