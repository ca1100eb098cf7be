import type { Command } from 'commander'
import { eraseContact } from '../../db/support/erase.ts'
import { anyContact, type ContactType } from '../core/contact.ts'
import type { Answerer } from './answer.ts'
import { contact, existingAccount } from './arguments.ts'

interface EraseOptions {
  account: string
  contact: { type: ContactType; value: string }
}

const advice = 'some of its sends are still on their way: run this again when they have ended'

export function contactCommands(program: Command, answer: Answerer): void {
  program
    .command('contact')
    .description("an account's contacts")
    .command('erase')
    .description('remove content and contact of its finished sends; their timelines stay, without it')
    .requiredOption('--account <id>', 'whose contact')
    .requiredOption('--contact <value>', anyContact, contact)
    .action((options: EraseOptions, command: Command) =>
      answer(command, async ({ db }) => {
        const accountId = await existingAccount(db, options.account)
        const { erased, unfinished } = await eraseContact(db, { accountId, contact: options.contact })
        return { erased, unfinished, ...(unfinished > 0 && { advice }) }
      }),
    )
}
