import type { Command } from 'commander'
import { type Rotation, rotateConfigs } from '../../db/accounts/sealed-configs.ts'
import { auditedInPages } from '../../db/audit/record.ts'
import { rotateSealedSecrets } from '../../db/callbacks/sealed-secrets.ts'
import { nothingThere, whatWasLeftOut } from '../core/sends/left-out.ts'
import { type Answerer, type CliContext, CliError, renderWith } from './answer.ts'

export function credentialsCommands(program: Command, answer: Answerer): void {
  program
    .command('credentials')
    .command('rotate')
    .description(
      'reseal every channel config and endpoint secret from CREDENTIALS_KEY_PREVIOUS to CREDENTIALS_KEY',
    )
    .action((_options: object, command: Command) =>
      answer(command, rotate, ({ rotated, already }) =>
        renderWith({ rotated, already }, whatWasLeftOut(rotated, { sealed: already }, nothingThere.rotate)),
      ),
    )
}

async function rotate({ db, setting, actor }: CliContext) {
  const previous = setting('CREDENTIALS_KEY_PREVIOUS')
  const current = setting('CREDENTIALS_KEY')
  const keys = previous ? ([current, previous] as const) : ([current] as const)
  const row = { ...actor, action: 'credentials.rotate', target: null } as const
  const {
    configs,
    secrets,
    rotated,
    already,
    unopened: left,
  } = await auditedInPages(db, row, {
    change: async () =>
      counted({ configs: await rotateConfigs(db, keys), secrets: await rotateSealedSecrets(db, keys) }),
    resultOf: ({ rotated, already, unopened }) => ({ rotated, already, unopened }),
  })
  if (left === 0) return { rotated, already }
  const unopened = [
    ...(configs.unopened.length > 0 ? [`the config of ${configs.unopened.join(', ')}`] : []),
    ...(secrets.unopened.length > 0 ? [`the secret of ${secrets.unopened.join(', ')}`] : []),
  ].join(', and ')
  const again = [
    ...(configs.unopened.length > 0
      ? ['set each config again: outbound channel update ID --config @FILE']
      : []),
    ...(secrets.unopened.length > 0
      ? ['replace each secret: outbound endpoint rotate-secret ID --overlap 0s']
      : []),
  ].join('; ')
  const hint = previous ? again : 'set CREDENTIALS_KEY_PREVIOUS to the former key'
  throw new CliError(
    'failed',
    `${rotated} rotated, ${already} rotated before; no key opens ${unopened}: ${hint}`,
  )
}

function counted(rotations: { configs: Rotation; secrets: Rotation }) {
  const count = (of: keyof Rotation) => rotations.configs[of].length + rotations.secrets[of].length
  return {
    ...rotations,
    rotated: count('rotated'),
    already: count('already'),
    unopened: count('unopened'),
  }
}
