import type { Command } from 'commander'
import { auditedInPages } from '../../db/audit/record.ts'
import { eraseContactWholly } from '../../db/upkeep/erase-wholly.ts'
import { anyContact, type ContactType } from '../core/contacts/contact.ts'
import { nothingThere, whatWasLeftOut } from '../core/sends/left-out.ts'
import { suppressionKey } from '../core/suppression/suppression.ts'
import { type Answerer, renderWith } from './answer.ts'
import { existingAccount, storedContact } from './arguments.ts'

interface EraseOptions {
  account: string
  contact: { type: ContactType; value: string }
}

const advice = 'some sends to this contact have not ended: run this again when they have'

export function contactCommands(program: Command, answer: Answerer): void {
  program
    .command('contact')
    .command('erase')
    .description(
      'remove content and contact from its finished sends; their timelines stay, with these fields redacted',
    )
    .requiredOption('--account <id>', 'the account that the sends belong to')
    .requiredOption('--contact <value>', anyContact, storedContact)
    .action((options: EraseOptions, command: Command) =>
      answer(
        command,
        async ({ db, setting, actor }) => {
          const accountId = await existingAccount(db, options.account)
          const contactOf = { accountId, contact: options.contact }
          const key = suppressionKey(setting('API_KEY_PEPPER'))
          // Not whose: the contact is to be erased.
          const row = { ...actor, action: 'contact.erase', target: accountId } as const
          const { erased, unfinished } = await auditedInPages(db, row, {
            change: () => eraseContactWholly(db, contactOf, key),
            resultOf: (counts) => counts,
          })
          return { erased, unfinished, ...(unfinished > 0 && { advice }) }
        },
        ({ advice: _, ...answer }) =>
          renderWith(
            answer,
            whatWasLeftOut(answer.erased, { unfinished: answer.unfinished }, nothingThere.erase),
          ),
      ),
    )
}
