import type { Command } from 'commander'
import { listConversations } from '../../db/delivery/conversations.ts'
import { anyContact, type ContactType } from '../core/contacts/contact.ts'
import type { Answerer } from './answer.ts'
import { existingAccount, storedContact } from './arguments.ts'

interface ListOptions {
  account: string
  contact: { type: ContactType; value: string }
}

export function conversationCommands(program: Command, answer: Answerer): void {
  program
    .command('conversation')
    .command('list')
    .requiredOption('--account <id>', 'the account that owns the conversations')
    .requiredOption('--contact <value>', anyContact, storedContact)
    .action((options: ListOptions, command: Command) =>
      answer(command, async ({ db }) => ({
        conversations: await listConversations(
          db,
          await existingAccount(db, options.account),
          options.contact,
        ),
      })),
    )
}
