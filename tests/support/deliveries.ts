import type { ProviderRules } from '../../src/core/channels/provider.ts'
import type { Delivery } from '../../src/providers/delivery.ts'
import { firstDelivery } from '../../src/providers/shared/first-delivery.ts'

/** A first attempt at a text to a contact of a type that the provider reaches. */
export function buildDelivery(
  rules: ProviderRules,
  config: object,
  changes: Partial<Delivery<unknown>> = {},
): Delivery<unknown> {
  const phone = rules.contactTypes.includes('phone')
  return {
    ...firstDelivery({
      contact: phone
        ? { type: 'phone', value: '+4915112345678' }
        : { type: 'email', value: 'ann@example.com' },
      message: { type: 'text', text: { value: 'Hello' } },
      mediaContent: undefined,
      config,
    }),
    ...changes,
  }
}
