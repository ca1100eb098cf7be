import { v7 as uuidv7 } from 'uuid'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import type { EnteredSend } from '../../workers/sends/send-states.ts'
import type { TestService } from './service.ts'

/** A text that a worker has claimed, and that is in its conversation. */
export function buildEnteredSend(
  { runtime }: Pick<TestService, 'runtime'>,
  changes: Partial<EnteredSend> = {},
): EnteredSend {
  const channelId = uuidv7()
  return {
    requestId: uuidv7(),
    accountId: uuidv7(),
    channelId,
    contact: { type: 'phone', value: '+4915112345678' },
    message: { type: 'text', text: { value: 'Hello' } },
    flowId: null,
    reference: null,
    priority: 'normal',
    closeConversation: false,
    conversationId: uuidv7(),
    attempt: 1,
    attemptsBeforeReplay: 0,
    worker: 'a',
    claimId: uuidv7(),
    traceparent: null,
    provider: 'sandbox',
    sealedConfig: sealConfig({}, channelId, runtime.settings.CREDENTIALS_KEY),
    onUncertain: 'hold',
    expiresInMs: null,
    expiresAt: Number.POSITIVE_INFINITY,
    isLimited: false,
    isOverflow: false,
    isProbe: false,
    fellBack: false,
    hasFallback: false,
    oneClick: false,
    callInMs: null,
    tooLateInMs: null,
    ...changes,
  }
}
