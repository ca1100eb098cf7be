/** Fields of providers' configs that hold no secret. */
const shownFields = new Set([
  'accountSid',
  'apiVersion',
  'applicationId',
  'defaultLanguage',
  'from',
  'host',
  'keyHeader',
  'messagingServiceSid',
  'name',
  'phoneNumberId',
  'port',
  'replyTo',
  'requireTls',
  'returnPath',
  'secure',
  'statusCallback',
  'subject',
  'via',
])

/** Fields that are addresses: their path and query may hold secrets. */
const addresses = new Set(['url', 'baseUrl'])

export const hidden = 'set, not shown'

export type ShownConfig = Record<string, string | number | boolean>

/**
 * The part of a channel's config that operators may see. Other fields are only named.
 *
 * @param more fields of its provider that hold no secret.
 */
export function shownConfig(config: object, more: readonly string[] = []): ShownConfig {
  return Object.fromEntries(
    Object.entries(config)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, shown(name, value, more)]),
  )
}

/** Whether operators may see what a config has in the field. @param more fields of its provider that hold no secret. */
export const isShownField = (name: string, more: readonly string[] = []): boolean =>
  shownFields.has(name) || more.includes(name)

function shown(name: string, value: unknown, more: readonly string[]): string | number | boolean {
  if (addresses.has(name) && typeof value === 'string' && URL.canParse(value)) return new URL(value).origin
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return isShownField(name, more) && isPlain ? value : hidden
}
