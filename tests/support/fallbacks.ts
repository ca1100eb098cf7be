import { updateChannel } from '../../db/accounts/channels.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import { type Account, buildAccount, buildChannel } from './builders.ts'
import type { TestService } from './service.ts'

/** An account whose channels fall back on the next, each a sandbox. */
export async function buildChain(
  service: TestService,
  length = 2,
): Promise<{ account: Account; channels: string[] }> {
  const account = await buildAccount(service)
  const channels = [account.channelId]
  while (channels.length < length) channels.push(await buildChannel(service, account.accountId))
  for (const [index, channelId] of channels.entries()) {
    const fallbackChannelId = channels[index + 1]
    if (fallbackChannelId) await updateChannel(service.runtime.db, channelId, { fallbackChannelId })
  }
  return { account, channels }
}

/** The recipient can't be reached by this channel. */
export const unreachable: AttemptOutcome = {
  outcome: 'rejected',
  fault: 'recipient',
  reason: 'the contact is not on this network',
  providerStatus: 400,
  providerCode: '131026',
}
