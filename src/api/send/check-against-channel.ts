import type { Channel } from '../../../db/accounts/channels.ts'
import { isOwnFlow } from '../../../db/accounts/flows.ts'
import type { ProviderRules } from '../../core/channels/provider.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { sendIssue } from '../../core/sends/send-issue.ts'
import type { SendRequest } from '../../core/sends/send-request.ts'
import type { Needs } from '../../runtime.ts'
import { channelRules } from '../../sends/channel-rules.ts'
import type { RequestState } from '../context.ts'
import { ApiError } from '../errors.ts'

export type CheckedRequest = SendRequest & { contentType?: string | undefined }

export const flowNotFound = () => new ApiError('flow_not_found', 'flowId: no such flow')

/** Checks the flow, and the limits of the channel and its provider, whose rules it returns. */
export function createCheckAgainstChannel(
  runtime: Needs<'db' | 'log', 'PUBLIC_BASE_URL' | 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>,
) {
  const { db, settings } = runtime
  const rulesOf = channelRules(runtime)
  const hasPublicUrl = settings.PUBLIC_BASE_URL !== undefined
  return async (
    { caller, deadline }: Pick<RequestState, 'caller' | 'deadline'>,
    request: CheckedRequest,
    channel: Channel,
  ): Promise<ProviderRules> => {
    const { flowId } = request
    if (flowId !== undefined) {
      const isOwn = canBeRecordId(flowId) && (await deadline.spend(isOwnFlow(db, flowId, caller.accountId)))
      if (!isOwn) throw flowNotFound()
    }
    const rules = rulesOf(channel)
    const issue = sendIssue(rules, { ...request, countries: channel.countries, hasPublicUrl })
    if (issue) throw new ApiError('unsupported_by_channel', issue)
    return rules
  }
}
