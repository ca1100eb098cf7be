import { z } from 'zod'
import { databaseUrlIssue, example as exampleUrl } from '../../../db/connection/connection-string.ts'
import { parseUrl } from '../../core/requests/parse-url.ts'
import { isLoopback, parseNetwork } from '../../core/requests/public-address.ts'
import { parseRedisUrl } from '../redis/address.ts'
import { environmentVariables, type Variables } from './environment.ts'
import { isGiven, withSecretFiles } from './secret-files.ts'
import { tlsIssues } from './store-protection.ts'
import { isProduction, weakSettings } from './weak-settings.ts'

const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `has to be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `has to be a whole number from ${min} to ${max}`)

const url = (protocols: string[], example: string) =>
  z
    .string({ error: `is not set; set it, e.g. to ${example}` })
    .refine((text) => protocols.includes(parseUrl(text)?.protocol ?? ''), `has to be a URL, e.g. ${example}`)

const redisAddress = z
  .string({ error: 'is not set; set it, e.g. to redis://localhost:6379' })
  .transform((text, context) => {
    try {
      return parseRedisUrl(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as RangeError).message })
      return z.NEVER
    }
  })

const networks = z.string().transform((text, context) => {
  try {
    return text
      .split(',')
      .filter(Boolean)
      .map((cidr) => parseNetwork(cidr.trim()))
  } catch {
    context.addIssue({ code: 'custom', message: 'has to be a list of networks, e.g. 10.0.0.0/8,fd00::/8' })
    return z.NEVER
  }
})

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'has to be the name of a header, e.g. X-Forwarded-User')
  .transform((name) => name.toLowerCase())

const credentialsKey = /^[A-Za-z0-9+/]{43}=$/
const keyBytes = (text: string) => Buffer.from(text, 'base64')

const delays = z
  .string()
  .regex(/^\d{1,7}(,\d{1,7})*$/, 'has to be a list of whole seconds, e.g. 1,5,25')
  .transform((text) => text.split(',').map(Number))

const yesOrNo = z.enum(['true', 'false'], 'has to be true or false').transform((text) => text === 'true')

const maxShards = 64
const defaultShards = { ofCluster: '3', else: '1' }

/** All settings by the name of their environment variable, with default and range (docs/reference/settings.md). */
const environment = z.object({
  DATABASE_URL: z
    .string({ error: `is not set; set it, e.g. to ${exampleUrl}` })
    .superRefine((text, context) => {
      const issue = databaseUrlIssue(text)
      if (issue) context.addIssue({ code: 'custom', message: issue })
    }),
  /** Unset: a store on another host without TLS or password is a warning. */
  DATABASE_REQUIRE_TLS: yesOrNo.optional(),
  REDIS_URL: redisAddress,
  REDIS_REQUIRE_TLS: yesOrNo.optional(),
  /** Its default depends on REDIS_URL. */
  QUEUE_SHARDS: whole(1, maxShards),
  QUEUE_SHARDS_PREVIOUS: whole(1, maxShards).optional(),
  CREDENTIALS_KEY: z
    .string({ error: 'is not set; make one with: openssl rand -base64 32' })
    .regex(credentialsKey, 'has to be 32 bytes in base64; make one with: openssl rand -base64 32')
    .transform(keyBytes),
  CREDENTIALS_KEY_PREVIOUS: z
    .string()
    .regex(credentialsKey, 'has to be 32 bytes in base64: the former CREDENTIALS_KEY, or unset')
    .transform(keyBytes)
    .optional(),
  API_KEY_PEPPER: z
    .string({ error: 'is not set; make one with: openssl rand -base64 48' })
    .min(32, 'has to be at least 32 characters; make one with: openssl rand -base64 48')
    .regex(/[^\r\n]$/, 'ends with a line break; leave it out, or no key of another process is valid'),
  HOST: z.string().min(1).default('0.0.0.0'),
  PORT: whole(0, 65_535).default(3000),
  METRICS_HOST: z.string().min(1).default('127.0.0.1'),
  METRICS_PORT: whole(0, 65_535).default(3002),
  ADMIN_HOST: z.string().min(1).default('127.0.0.1'),
  ADMIN_PORT: whole(0, 65_535).default(3001),
  ADMIN_PASSWORD: z.string().optional(),
  ADMIN_USER_HEADER: headerName.optional(),
  ADMIN_ROLE_HEADER: headerName.optional(),
  SUPPORT_SHOW_CONTENT: yesOrNo.default(false),
  RATE_LIMIT_POINTS: whole(1, 1_000_000_000).default(600),
  RATE_LIMIT_WINDOW_SECONDS: whole(1, 86_400).default(60),
  AUTH_FAILURE_LIMIT: whole(1, 1_000_000_000).default(100),
  MAX_BODY_BYTES: whole(1024, 268_435_456).default(26_214_400),
  WORKER_CONCURRENCY: whole(1, 10_000).default(1000),
  PROVIDER_TIMEOUT_SECONDS: whole(1, 25).default(15),
  DATABASE_POOL_SIZE: whole(1, 1000).default(10),
  RETRY_DELAYS_SECONDS: delays.default([1, 5, 25, 120, 600, 2400, 7200]),
  SCHEDULE_MAX_DAYS: whole(1, 365).default(30),
  CALLBACK_RETRY_DELAYS_SECONDS: delays.default([5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]),
  CALLBACK_TIMEOUT_SECONDS: whole(1, 25).default(15),
  CALLBACK_CONCURRENCY: whole(2, 1000).default(64),
  CALLBACK_RETENTION_DAYS: whole(1, 90).default(7),
  RETENTION_DAYS: whole(1, 36_500).default(90),
  AUDIT_RETENTION_DAYS: whole(1, 36_500).default(365),
  USAGE_RETENTION_MONTHS: whole(1, 1200).default(25),
  MEDIA_RETENTION_HOURS: whole(0, 876_000).default(24),
  PUBLIC_BASE_URL: url(['http:', 'https:'], 'https://messages.example.com').optional(),
  ALLOWED_PRIVATE_NETWORKS: networks.default([]),
  CLIENT_PRIVATE_NETWORKS: networks.default([]),
  TRUST_PROXY: networks.default([]),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
})

export type Settings = z.output<typeof environment>
type Name = keyof Settings
export const settingNames = Object.keys(environment.shape) as Name[]
/** Settings that can't be used. The message has one line for each, which names it and says what to set. */
export class SettingsError extends Error {}

/**
 * Reads the settings; called once, when a process starts. An empty value counts as unset. Secrets may come from files.
 *
 * @param names the settings that this process needs; default: all.
 * @param issuesTogether returns the issues of settings that are valid alone, but not together.
 * @throws SettingsError with all issues at once.
 */
export function readSettings<const Names extends readonly Name[] = readonly Name[]>(
  names: Names = settingNames as unknown as Names,
  variables: Variables = environmentVariables,
  issuesTogether: (set: Variables) => string[] = () => [],
): Pick<Settings, Names[number]> {
  const files = withSecretFiles(names, variables)
  const set = withShards(Object.fromEntries(Object.entries(files.set).filter(([, value]) => value)))
  const schema = z.object(Object.fromEntries(names.map((name) => [name, environment.shape[name]])))
  const result = schema.safeParse(set)
  const issues = result.error?.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`) ?? []
  if (names.includes('CREDENTIALS_KEY_PREVIOUS') && isRotatedToItself(set)) {
    issues.push(
      'CREDENTIALS_KEY_PREVIOUS is the same as CREDENTIALS_KEY; set it to the former key, or unset it',
    )
  }
  if (names.includes('QUEUE_SHARDS') && set.QUEUE_SHARDS === set.QUEUE_SHARDS_PREVIOUS) {
    issues.push('QUEUE_SHARDS_PREVIOUS is the same as QUEUE_SHARDS; set it to the former number, or unset it')
  }
  issues.push(...tlsIssues(names, set))
  if (isProduction(variables)) issues.push(...weakSettings(names, set))
  issues.push(...issuesTogether(set))
  if (result.success && issues.length + files.issues.length === 0)
    return result.data as Pick<Settings, Names[number]>
  // A setting whose file can't be used has that issue alone, not also the one that it isn't set.
  const further = issues.filter((issue) => !files.unread.some((name) => issue.startsWith(`${name} `)))
  const lines = [...files.issues, ...further].map((issue) => `  ${issue}`)
  throw new SettingsError(`These settings can't be used; fix them and start again:\n${lines.join('\n')}`)
}

function withShards(set: Variables): Variables {
  const isCluster = /^rediss?\+cluster:/.test(set.REDIS_URL ?? '')
  return { QUEUE_SHARDS: isCluster ? defaultShards.ofCluster : defaultShards.else, ...set }
}

function isRotatedToItself(set: Record<string, string | undefined>): boolean {
  const { CREDENTIALS_KEY: current, CREDENTIALS_KEY_PREVIOUS: previous } = set
  if (current === undefined || previous === undefined) return false
  return keyBytes(current).equals(keyBytes(previous))
}

/** The keys that may have sealed a config or signed a media link, the current one first. */
export function credentialsKeys({
  CREDENTIALS_KEY,
  CREDENTIALS_KEY_PREVIOUS,
}: Pick<Settings, 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>): Buffer[] {
  return CREDENTIALS_KEY_PREVIOUS ? [CREDENTIALS_KEY, CREDENTIALS_KEY_PREVIOUS] : [CREDENTIALS_KEY]
}

const adminNames = [
  'DATABASE_URL',
  'DATABASE_REQUIRE_TLS',
  'REDIS_URL',
  'REDIS_REQUIRE_TLS',
  'QUEUE_SHARDS',
  'QUEUE_SHARDS_PREVIOUS',
  'DATABASE_POOL_SIZE',
  'ADMIN_HOST',
  'ADMIN_PORT',
  'ADMIN_PASSWORD',
  'ADMIN_USER_HEADER',
  'ADMIN_ROLE_HEADER',
  'TRUST_PROXY',
  'SUPPORT_SHOW_CONTENT',
  'PUBLIC_BASE_URL',
  'ALLOWED_PRIVATE_NETWORKS',
  'CLIENT_PRIVATE_NETWORKS',
  'RETENTION_DAYS',
  'LOG_LEVEL',
] as const

/** The secrets with which the admin process erases contacts, and sets up accounts. */
const adminSecrets = ['API_KEY_PEPPER', 'CREDENTIALS_KEY', 'CREDENTIALS_KEY_PREVIOUS'] as const

/** The settings of the admin process. It needs no secret to show what there is. */
export type AdminSettings = Pick<Settings, (typeof adminNames)[number]> &
  Partial<Pick<Settings, (typeof adminSecrets)[number]>>

/** @throws SettingsError also if other machines could reach the admin process without a password, or could claim to be anybody. */
export function readAdminSettings(variables: Variables = environmentVariables): AdminSettings {
  const names: readonly Name[] = [...adminNames, ...adminSecrets.filter((name) => isGiven(name, variables))]
  return readSettings(names, variables, (set) => [...passwordIssues(set), ...proxyHeaderIssues(set)])
}

function passwordIssues({ ADMIN_HOST, ADMIN_PASSWORD }: Variables): string[] {
  return ADMIN_HOST === undefined || isLoopback(ADMIN_HOST) || ADMIN_PASSWORD !== undefined
    ? []
    : [
        'ADMIN_PASSWORD is not set; set it, or set ADMIN_HOST to 127.0.0.1: else all who reach it see all sends',
      ]
}

/** Issues of the headers by which a proxy names who signed in to it. */
function proxyHeaderIssues({ ADMIN_USER_HEADER: user, ADMIN_ROLE_HEADER: role, TRUST_PROXY }: Variables) {
  if (user === undefined && role === undefined) return []
  const issues: string[] = []
  if (user === undefined) issues.push('ADMIN_USER_HEADER is not set; set it, or unset ADMIN_ROLE_HEADER')
  if (role === undefined) issues.push('ADMIN_ROLE_HEADER is not set; set it, or unset ADMIN_USER_HEADER')
  if (user !== undefined && user.toLowerCase() === role?.toLowerCase())
    issues.push('ADMIN_ROLE_HEADER is the same as ADMIN_USER_HEADER; set it to the header with the role')
  if (TRUST_PROXY === undefined)
    issues.push('TRUST_PROXY is not set; set it to the proxy that writes ADMIN_USER_HEADER, or unset that')
  return issues
}
