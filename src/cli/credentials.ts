import type { Command } from 'commander'
import { rotateConfigs } from '../../db/accounts/sealed-configs.ts'
import { type Answerer, CliError } from './answer.ts'

export function credentialsCommands(program: Command, answer: Answerer): void {
  program
    .command('credentials')
    .description("what channels' configs are sealed with")
    .command('rotate')
    .description('reseal each config that CREDENTIALS_KEY_PREVIOUS has sealed with CREDENTIALS_KEY')
    .action((_options: object, command: Command) =>
      answer(command, async ({ db, setting }) => {
        const previous = setting('CREDENTIALS_KEY_PREVIOUS')
        const current = setting('CREDENTIALS_KEY')
        const { rotated, already, unopened } = await rotateConfigs(
          db,
          previous ? [current, previous] : [current],
        )
        if (unopened.length === 0) return { rotated: rotated.length, already: already.length }
        const hint = previous
          ? 'give each its config anew: channel update ID --config JSON'
          : 'set CREDENTIALS_KEY_PREVIOUS to the key that did before'
        throw new CliError(
          `${rotated.length} rotated, ${already.length} already; no key opens the config of ${unopened.join(', ')}: ${hint}`,
        )
      }),
    )
}
