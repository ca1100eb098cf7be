import type { Context } from 'hono'
import type { Channel } from '../../../db/accounts/channels.ts'
import { isOwnFlow } from '../../../db/accounts/flows.ts'
import type { ProviderRules } from '../../core/provider.ts'
import { providerFault } from '../../core/provider-faults.ts'
import { providerRules } from '../../core/providers/index.ts'
import { canBeRecordId } from '../../core/record-id.ts'
import type { SendRequest } from '../../core/send-request.ts'
import type { Runtime } from '../../runtime.ts'
import type { ApiEnv } from '../context.ts'
import { ApiError } from '../errors.ts'

type CheckedRequest = SendRequest & { contentType?: string | undefined }

export const flowNotFound = () => new ApiError(400, 'flowId: no such flow')

/** Checks the flow, and the limits of the channel's provider. */
export function channelChecks({ db, settings }: Runtime) {
  const hasPublicUrl = settings.PUBLIC_BASE_URL !== undefined
  const isOwn = (c: Context<ApiEnv>, flowId: string) => {
    const { caller, deadline } = c.var
    return deadline.spend(isOwnFlow(db, flowId, caller.accountId))
  }
  return async (c: Context<ApiEnv>, request: CheckedRequest, channel: Channel): Promise<void> => {
    const { flowId } = request
    if (flowId !== undefined) {
      const found = canBeRecordId(flowId) && (await isOwn(c, flowId))
      if (!found) throw flowNotFound()
    }
    const rules: ProviderRules = providerRules[channel.provider]
    const fault = providerFault(rules, { ...request, hasPublicUrl })
    if (fault) throw new ApiError(400, fault)
  }
}
