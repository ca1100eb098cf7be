import { v7 as uuidv7 } from 'uuid'
import { createChannel } from '../../db/channels.ts'
import { type ProviderName, providerRules } from '../../src/core/providers/index.ts'
import { sealConfig } from '../../src/core/sealed-config.ts'
import type { Registry } from './builders.ts'

/** A channel of any provider, with a config that its rules take. */
export async function buildProviderChannel(
  service: Registry,
  accountId: string,
  provider: ProviderName,
  config: object,
): Promise<string> {
  const { db, settings } = service.runtime
  const { config: schema, onUncertain } = providerRules[provider]
  const id = uuidv7()
  const sealedConfig = sealConfig(schema.parse(config), id, settings.CREDENTIALS_KEY)
  await createChannel(db, { id, accountId, provider, name: provider, sealedConfig, onUncertain })
  return id
}
