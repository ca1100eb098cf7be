import type { Command } from 'commander'
import { eraseContact } from '../../db/upkeep/erase.ts'
import { anyContact, type ContactType } from '../core/contact.ts'
import type { Answerer } from './answer.ts'
import { contact, existingAccount } from './arguments.ts'

interface EraseOptions {
  account: string
  contact: { type: ContactType; value: string }
}

const advice = 'some sends to this contact have not ended: run this again when they have'

export function contactCommands(program: Command, answer: Answerer): void {
  program
    .command('contact')
    .description("an account's contacts")
    .command('erase')
    .description(
      'remove content and contact from its finished sends; their timelines stay, with these fields redacted',
    )
    .requiredOption('--account <id>', 'the account that the sends belong to')
    .requiredOption('--contact <value>', anyContact, contact)
    .action((options: EraseOptions, command: Command) =>
      answer(command, async ({ db }) => {
        const accountId = await existingAccount(db, options.account)
        const { erased, unfinished } = await eraseContact(db, { accountId, contact: options.contact })
        return { erased, unfinished, ...(unfinished > 0 && { advice }) }
      }),
    )
}
