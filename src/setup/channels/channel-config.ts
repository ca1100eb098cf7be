import { weakConfigIssue } from '../../core/accounts/weak-secret.ts'
import { addressIssue } from '../../core/channels/config-address.ts'
import { sealConfig } from '../../core/channels/sealed-config.ts'
import { type ShownConfig, shownConfig } from '../../core/channels/shown-config.ts'
import { expectsReceipts } from '../../core/receipts/receipt.ts'
import { describeIssue, describeIssues } from '../../core/requests/issues.ts'
import type { Network } from '../../core/requests/public-address.ts'
import { providerOf } from '../../providers/known.ts'

/** What a config is sealed and checked with. */
export interface Sealing {
  key: Buffer
  /** The networks that aren't public, but that workers may call. */
  networks: readonly Network[]
  /** Whether weak secrets are refused. */
  isProduction: boolean
}

export interface SealedConfig {
  sealedConfig: string
  shownConfig: ShownConfig
  expectsReceipts: boolean
}

/** A config that the provider can't use. */
export interface ConfigIssues {
  provider: string
  /** All on one line, each with its field. */
  words: string
  /** The first of each field of the config. */
  byField: Readonly<Record<string, string>>
}

/** Checks a channel's config, and seals it. */
export function sealedConfigOf(
  provider: string,
  config: unknown,
  channelId: string,
  { key, networks, isProduction }: Sealing,
): SealedConfig | { issues: ConfigIssues } {
  const rules = providerOf(provider)
  const parsed = rules.config.safeParse(config, { error: describeIssue })
  if (!parsed.success) {
    const { issues } = parsed.error
    const byField = issues.map(({ path: [field = ''], message }) => [String(field), message] as const)
    const words = describeIssues(issues)
    return { issues: { provider, words, byField: Object.fromEntries(byField.toReversed()) } }
  }
  const data = parsed.data as object
  const issue = addressIssue(data, networks) ?? (isProduction ? weakConfigIssue(data) : undefined)
  if (issue) {
    // Both begin with the field.
    const [, field = '', message = issue] = /^(\w+):? (.*)$/s.exec(issue) ?? []
    return { issues: { provider, words: issue, byField: { [field]: message } } }
  }
  return {
    sealedConfig: sealConfig(data, channelId, key),
    shownConfig: shownConfig(data, rules.shownFields),
    expectsReceipts: expectsReceipts(rules.receipts, parsed.data),
  }
}
