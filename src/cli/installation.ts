import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { readInstallation } from '../../db/accounts/installation.ts'
import { inTransaction } from '../../db/connection/client.ts'
import { credentialsKeys } from '../platform/settings/settings.ts'
import { ambiguousWords, applyInstallation } from '../setup/installation/apply.ts'
import { type Change, InstallationFault } from '../setup/installation/applying.ts'
import { ambiguousNames, describeInstallation } from '../setup/installation/describe.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { existingAccount } from './arguments.ts'
import { channelMaking } from './channel.ts'
import { Differs } from './exit-codes.ts'
import { givenText } from './given-json.ts'

export function exportCommand(program: Command, answer: Answerer): void {
  program
    .command('export')
    .option('--account <id>', 'this account alone')
    .action((options: { account?: string }, command: Command) =>
      answer(
        command,
        (context) => describe(context, options.account),
        (file) => stringify(file, { lineWidth: 0 }).trimEnd(),
      ),
    )
}

async function describe({ db, setting }: CliContext, account: string | undefined) {
  const accountId = account === undefined ? undefined : await existingAccount(db, account)
  const keys = credentialsKeys({
    CREDENTIALS_KEY: setting('CREDENTIALS_KEY'),
    CREDENTIALS_KEY_PREVIOUS: setting('CREDENTIALS_KEY_PREVIOUS'),
  })
  const installation = await inTransaction(db, async (transaction) => {
    await transaction.execute('set transaction isolation level repeatable read, read only')
    return await readInstallation(transaction)
  })
  const ambiguous = ambiguousNames(installation, accountId === undefined ? undefined : new Set([accountId]))
  if (ambiguous.length > 0) throw new CliError('refused', ambiguousWords(ambiguous))
  return describeInstallation(installation, keys, accountId)
}

interface ApplyOptions {
  plan?: true
  prune?: true
}

export function applyCommand(program: Command, answer: Answerer): void {
  program
    .command('apply')
    .argument('<file>', 'the file, or - for stdin')
    .option('--plan', 'only print what it would change; exits with 2 if there is something')
    .option('--prune', 'also remove what the lists of the file do not have')
    .action(async (path: string, { plan, prune }: ApplyOptions, command: Command) => {
      let changes: Change[] = []
      await answer(
        command,
        async (context) => {
          const text = givenText('FILE', path === '-' ? path : `@${path}`)
          changes = await applied(context, path, { text, isPlan: plan === true, prunes: prune === true })
          return { changes }
        },
        () => rendered(changes, plan === true),
      )
      if (plan && changes.length > 0) throw new Differs()
    })
}

interface Given {
  text: string
  isPlan: boolean
  prunes: boolean
}

async function applied(context: CliContext, path: string, given: Given): Promise<Change[]> {
  try {
    return await applyInstallation({
      ...channelMaking(context),
      ...given,
      db: context.db,
      clientNetworks: () => context.setting('CLIENT_PRIVATE_NETWORKS'),
      secrets: {
        environment: context.environment,
        folder: path === '-' ? process.cwd() : dirname(resolve(path)),
      },
    })
  } catch (error) {
    if (!(error instanceof InstallationFault)) throw error
    throw new CliError(error.isRefused ? 'refused' : 'usage', error.message)
  }
}

const signs = { create: '+', update: '~', remove: '-' }

function rendered(changes: readonly Change[], isPlan: boolean): string {
  if (changes.length === 0) return 'nothing to change'
  const lines = changes.map(
    ({ change, what, name, fields }) =>
      `${signs[change]} ${what} ${name}${fields ? `: ${fields.join(', ')}` : ''}`,
  )
  const count = `${changes.length} ${changes.length === 1 ? 'change' : 'changes'}`
  return [...lines, isPlan ? `${count} to make` : `${count} made`].join('\n')
}
