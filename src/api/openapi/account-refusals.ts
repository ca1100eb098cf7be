import { accountLists } from '../../core/account-lists.ts'
import type { Permission } from '../../core/api-key.ts'
import { ApiError } from '../errors.ts'
import { channelNotFound } from '../send/find-own-channel.ts'
import { tooManyRequests } from '../send/rate-limit.ts'
import type { PathSettings } from './operation.ts'
import { type Refusals, refusalsOfAny, withKey } from './refusals.ts'

type LimitSettings = Pick<PathSettings, 'RATE_LIMIT_POINTS' | 'RATE_LIMIT_WINDOW_SECONDS'>

/** Any route of an account's own things may answer these. */
export const ofAccount = (
  permissions: Permission[],
  { RATE_LIMIT_POINTS: points, RATE_LIMIT_WINDOW_SECONDS: seconds }: LimitSettings,
): Refusals => ({
  ...withKey(...permissions),
  tooManyRequests: {
    summary: 'The rate limit of the account is exceeded',
    error: tooManyRequests({ points, seconds }, { resetSeconds: 42 }),
  },
})

export const faultyPage = (): Refusals => ({
  faultyPage: { summary: 'Parameters are unknown, repeated or unreadable', error: faultyPageError() },
})

/** The query by which the example is met with. */
export const faultyPageQuery = 'limit=1000&after=x&page=2'

function faultyPageError(): ApiError {
  const read = accountLists.flows.readQuery(new URLSearchParams(faultyPageQuery))
  if ('query' in read) throw new Error('The example of a faulty query has no issue')
  return new ApiError(400, read.issue)
}

const readsChannels: Permission[] = ['messages:send', 'messages:read']

export const refusalsOfChannels = (settings: LimitSettings): Refusals => ({
  ...ofAccount(readsChannels, settings),
  ...faultyPage(),
  ...refusalsOfAny('GET', 'HEAD'),
})

export const refusalsOfChannel = (settings: LimitSettings): Refusals => ({
  ...ofAccount(readsChannels, settings),
  noSuchChannel: {
    summary: 'The channel does not exist, or belongs to another account',
    error: channelNotFound(),
  },
  ...refusalsOfAny('GET', 'HEAD'),
})

export const refusalsOfTemplates = (settings: LimitSettings): Refusals => ({
  ...faultyPage(),
  ...refusalsOfChannel(settings),
})
