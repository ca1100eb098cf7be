import type { Command } from 'commander'
import { rotateConfigs } from '../../db/accounts/sealed-configs.ts'
import { type Answerer, CliError } from './answer.ts'

export function credentialsCommands(program: Command, answer: Answerer): void {
  program
    .command('credentials')
    .description("encryption of the channels' configs")
    .command('rotate')
    .description('reseal every channel config from CREDENTIALS_KEY_PREVIOUS to CREDENTIALS_KEY')
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
          ? 'set each config again: channel update ID --config JSON'
          : 'set CREDENTIALS_KEY_PREVIOUS to the former key'
        throw new CliError(
          `${rotated.length} rotated, ${already.length} rotated before; no key opens the config of ${unopened.join(', ')}: ${hint}`,
        )
      }),
    )
}
