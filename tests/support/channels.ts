import { v7 as uuidv7 } from 'uuid'
import { createChannel } from '../../db/channels.ts'
import { type ProviderName, providerRules } from '../../src/core/providers/index.ts'
import { sealConfig } from '../../src/core/sealed-config.ts'
import type { Registry } from './builders.ts'

/** A channel of any provider. @param config as an operator gives it. */
export async function buildProviderChannel(
  service: Registry,
  accountId: string,
  provider: ProviderName,
  config: object,
): Promise<string> {
  const { db, settings } = service.runtime
  const id = uuidv7()
  const { config: schema, onUncertain } = providerRules[provider]
  const sealedConfig = sealConfig(schema.parse(config) as object, id, settings.CREDENTIALS_KEY)
  await createChannel(db, { id, accountId, provider, name: provider, sealedConfig, onUncertain })
  return id
}
