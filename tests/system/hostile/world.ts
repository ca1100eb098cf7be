import { setTemplate } from '../../../db/accounts/templates.ts'
import type { AttemptOutcome } from '../../../src/core/sends/outcome.ts'
import { emulationOf } from '../../../src/dev/world/emulators.ts'
import { type ProviderName, providerNames, providers } from '../../../src/providers/index.ts'
import { attemptedSend } from '../../support/attempts.ts'
import { accept, buildAccount, buildKey, newContact, textBody } from '../../support/builders.ts'
import { buildProviderChannel } from '../../support/provider-channel.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { type ReceivingProvider, receivingConfigs } from './receiving-configs.ts'

/** A service as hostile clients meet it: an account with a channel of every provider, and others beside it. */
export interface World {
  service: TestService
  /** Where sends go that have nothing wrong. */
  targets: Target[]
  flowId: string
  /** A send that is there from the start. */
  requestId: string
  /** Keys of the account that lack a permission or are no longer valid. */
  keys: { readOnly: string; sendOnly: string; expired: string; revoked: string }
  stranger: { accountId: string; apiKey: string; channelId: string; flowId: string }
}

export interface Target {
  provider: ProviderName
  channelId: string
  accountId: string
  apiKey: string
  /** Its account is over its rate limit after the first send. */
  isLimited: boolean
  /** A send that its provider has accepted; undefined if it is limited. */
  sentId?: string
}

/** Small, so that more than it is sent often. */
export const maxBodyBytes = 128 * 1024

export const contentSid = `HX${'0d'.repeat(16)}`

export const publicBaseUrl = 'https://messages.example.com'

/** A config for a provider without one here: its emulator's, which isn't called. */
async function configOf(provider: ProviderName): Promise<object> {
  if (Object.hasOwn(receivingConfigs, provider)) return receivingConfigs[provider as ReceivingProvider]
  const emulator = await (await emulationOf(provider)).start?.()
  await emulator?.stop()
  return emulator?.config ?? {}
}

const accepted: AttemptOutcome = { outcome: 'sent', providerMessageId: 'wamid.0', providerStatus: 200 }

export async function buildWorld(): Promise<World> {
  const service = await startTestService({
    MAX_BODY_BYTES: String(maxBodyBytes),
    AUTH_FAILURE_LIMIT: '100000000',
    RATE_LIMIT_POINTS: '100000000',
    PUBLIC_BASE_URL: publicBaseUrl,
  })
  const account = await buildAccount(service)
  const { accountId, apiKey } = account
  const targets: Target[] = []
  for (const provider of providerNames) {
    const channelId = await buildProviderChannel(service, accountId, provider, await configOf(provider))
    const { template } = await emulationOf(provider)
    await setTemplate(service.runtime.db, { channelId, name: 'welcome', definition: template })
    const isMail = providers[provider].contactTypes[0] === 'email'
    const body = textBody('Hello', isMail ? 'ada@example.com' : newContact())
    const sentId = await attemptedSend(service, { ...account, channelId }, accepted, body)
    targets.push({ provider, channelId, accountId, apiKey, isLimited: false, sentId })
  }
  const limited = await buildAccount(service, { rateLimit: { points: 1, seconds: 86_400 } })
  targets.push({ ...limited, provider: 'sandbox', isLimited: true })
  const keyOf = async (options: Parameters<typeof buildKey>[2]) =>
    (await buildKey(service, accountId, options)).apiKey
  return {
    service,
    targets,
    flowId: account.flowId,
    requestId: await accept(service, account, textBody()),
    keys: {
      readOnly: await keyOf({ permissions: ['messages:read'] }),
      sendOnly: await keyOf({ permissions: ['messages:send'] }),
      expired: await keyOf({ expiresAt: new Date(0) }),
      revoked: await keyOf({ revoked: true }),
    },
    stranger: await buildAccount(service),
  }
}

export const sentIdsOf = ({ targets }: World) => targets.flatMap(({ sentId }) => sentId ?? [])
