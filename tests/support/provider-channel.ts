import { v7 as uuidv7 } from 'uuid'
import { createChannel } from '../../db/accounts/channels.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import { expectsReceipts } from '../../src/core/receipts/receipt.ts'
import { providerOf } from '../../src/providers/known.ts'
import { inAnswer, type Registry } from './builders.ts'

/** A channel of any provider, made as `channel create` makes it. */
export async function buildProviderChannel(
  service: Registry,
  accountId: string,
  provider: string,
  config: object,
): Promise<string> {
  const { db, settings } = service.runtime
  const id = uuidv7()
  const rules = providerOf(provider)
  const parsed = rules.config.parse(config)
  const sealedConfig = sealConfig(parsed, id, settings.CREDENTIALS_KEY)
  const fields = {
    name: provider,
    sealedConfig,
    onUncertain: rules.onUncertain,
    expectsReceipts: expectsReceipts(rules.receipts, parsed),
    answeredAt: inAnswer,
  }
  await createChannel(db, { id, accountId, provider, ...fields })
  return id
}
