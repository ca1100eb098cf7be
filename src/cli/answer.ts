import type { Command } from 'commander'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import type { Actor } from '../core/accounts/actor.ts'
import { isGiven } from '../platform/settings/secret-files.ts'
import { readSettings, type Settings } from '../platform/settings/settings.ts'
import { isProduction } from '../platform/settings/weak-settings.ts'
import { loadProviderFiles } from '../provider-files.ts'
import type { FailureCode } from './exit-codes.ts'
import { operator } from './operator.ts'
import { findRunningDev } from './running-dev.ts'

/** An issue with the operator's command. The message is one line that says what to do. */
export class CliError extends Error {
  readonly code: FailureCode

  constructor(code: FailureCode, message: string) {
    super(message)
    this.code = code
  }
}

type OptionalSetting =
  | 'ALLOWED_PRIVATE_NETWORKS'
  | 'API_KEY_PEPPER'
  | 'CLIENT_PRIVATE_NETWORKS'
  | 'CREDENTIALS_KEY'
  | 'CREDENTIALS_KEY_PREVIOUS'
  | 'PROVIDER_TIMEOUT_SECONDS'
  | 'PUBLIC_BASE_URL'
  | 'RETENTION_DAYS'
  | 'SCHEDULE_MAX_DAYS'

/** The CLI's input, and where it prints, line by line. */
export interface Terminal {
  environment: Record<string, string | undefined>
  /** Reads a secret of this name, which must not be an argument: other users of the machine see those. */
  readSecret?(name: string): Promise<string>
  /** May throw ReaderGone, which ends the command. */
  print(line: string): void
  /** Never throws: a change under way goes on, although nobody reads how far it is. Default: `print`. */
  printProgress?(line: string): void
  printError(line: string): void
  /** Prints what the operator should know beside the answer. Default: `printError`. */
  printWarning?(line: string): void
}

export interface CliContext {
  db: Database
  /** Reads a setting that only some commands need. */
  setting<Name extends OptionalSetting>(name: Name): Settings[Name]
  /** With the secrets that a file of an installation names. */
  environment: Terminal['environment']
  /** Whether the setting is there. */
  isSet(name: OptionalSetting): boolean
  /** Whether weak secrets are refused. */
  isProduction: boolean
  print: Terminal['print']
  printProgress: Terminal['print']
  /** Prints a line on stderr beside the answer. */
  warn: Terminal['printError']
  readSecret: NonNullable<Terminal['readSecret']>
  /** Who runs the command. */
  actor: Actor
}

const queryTimeoutMs = 10_000

export type Answerer = ReturnType<typeof createAnswer>

/**
 * Creates the function that runs a command against the database and prints its answer: with `--json` exactly one JSON object,
 * else formatted text. Without DATABASE_URL it uses the running `npm run dev` of this checkout.
 */
export function createAnswer({
  environment: given,
  print,
  printProgress = print,
  printError,
  printWarning = printError,
  readSecret = noSecret,
}: Terminal) {
  return async <Answer extends object>(
    command: Command,
    work: (context: CliContext) => Promise<Answer>,
    render: (answer: Answer) => string = renderFields,
    { needsDatabase = true } = {},
  ): Promise<void> => {
    const { json, as } = command.optsWithGlobals<{ json?: boolean; as?: string }>()
    const environment =
      isGiven('DATABASE_URL', given) || !needsDatabase
        ? given
        : { ...given, ...(await runningDev()).environment }
    const db = needsDatabase ? await openDatabase(environment) : undefined
    const setting: CliContext['setting'] = (name) => readSettings([name], environment)[name]
    const rest = {
      setting,
      environment,
      isSet: (name: OptionalSetting) => isGiven(name, environment),
      isProduction: isProduction(environment),
      print,
      printProgress,
      warn: printWarning,
      readSecret,
      actor: operator(as),
    }
    try {
      const result = await work({
        ...rest,
        get db() {
          if (db) return db
          throw new Error('A command that needs no database asked for it')
        },
      })
      print(json ? JSON.stringify(result) : render(result))
    } finally {
      await db?.$client.end()
    }
  }
}

async function openDatabase(environment: Terminal['environment']): Promise<Database> {
  const { DATABASE_URL } = readSettings(['DATABASE_URL'], environment)
  const db = connectDatabase(DATABASE_URL, { poolSize: 2, queryTimeoutMs, onConnectionLost: () => {} })
  await loadProviderFiles(db).catch(async (error) => {
    await db.$client.end()
    throw error
  })
  return db
}

const noSecret = () => Promise.reject(new CliError('usage', 'Give the password on stdin'))

async function runningDev() {
  const dev = await findRunningDev()
  if (dev) return dev
  throw new CliError(
    'usage',
    'DATABASE_URL is not set, and npm run dev is not running here: set DATABASE_URL, or start npm run dev',
  )
}

/** One line per field: `name  value`. A list becomes one block per row. */
export function renderFields(answer: object): string {
  const entries = Object.entries(answer)
  const [only] = entries
  if (entries.length === 1 && only && Array.isArray(only[1])) {
    const rows: object[] = only[1]
    return rows.length === 0 ? `no ${only[0]}` : rows.map((row) => renderFields(row)).join('\n\n')
  }
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${renderValue(value)}`).join('\n')
}

/** Fields and, below them, what was left out and why, if anything was. */
export const renderWith = (fields: object, why: string): string =>
  [renderFields(fields), why].filter(Boolean).join('\n')

function renderValue(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
