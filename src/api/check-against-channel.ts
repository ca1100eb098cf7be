import type { Context } from 'hono'
import type { Channel } from '../../db/channels.ts'
import { isOwnFlow } from '../../db/flows.ts'
import { isLongerThan } from '../core/characters.ts'
import type { ProviderRules } from '../core/provider.ts'
import { providerRules } from '../core/providers/index.ts'
import { canBeRecordId } from '../core/record-id.ts'
import type { SendRequest } from '../core/send-request.ts'
import type { Runtime } from '../platform/runtime.ts'
import type { ApiEnv } from './context.ts'
import { ApiError } from './errors.ts'

/** Checks what depends on the account and the channel: the flow, and what the channel's provider takes. */
export function channelChecks({ db }: Runtime) {
  return async (c: Context<ApiEnv>, request: SendRequest, channel: Channel): Promise<void> => {
    const { caller, budget } = c.var
    const { flowId } = request
    if (flowId !== undefined) {
      const found = canBeRecordId(flowId) && (await budget.spend(isOwnFlow(db, flowId, caller.accountId)))
      if (!found) throw new ApiError(400, 'flowId: no such flow')
    }
    const fault = providerFault(request, channel)
    if (fault) throw new ApiError(400, fault)
  }
}

function providerFault({ contact, message }: SendRequest, channel: Channel): string | undefined {
  const rules: ProviderRules = providerRules[channel.provider]
  if (!rules.contactTypes.includes(contact.type)) {
    return `contact.type: this channel reaches ${rules.contactTypes.join(' and ')} contacts only`
  }
  if (!rules.messageTypes.includes(message.type)) {
    return `message.type: this channel takes ${rules.messageTypes.join(' and ')} only`
  }
  if (message.type === 'text' && isLongerThan(message.text.value, rules.maxTextCharacters)) {
    return `message.text.value: at most ${rules.maxTextCharacters} characters on this channel`
  }
  return undefined
}
