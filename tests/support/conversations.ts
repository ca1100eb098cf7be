import { listConversations } from '../../db/delivery/conversations.ts'
import { attemptedSend } from './attempts.ts'
import { type Account, newContact, textBody } from './builders.ts'
import type { TestService } from './service.ts'
import { waitingForLocks } from './stores.ts'
import { eventually } from './wait.ts'

/** A send that closes the open conversation with the contact. */
export const closingBody = (contact: string) => ({ ...textBody('Hi', contact), closeConversation: true })

/** The account's conversations with a phone number. */
export const conversationsWith = (
  { runtime }: Pick<TestService, 'runtime'>,
  { accountId }: Pick<Account, 'accountId'>,
  contact: string,
) => listConversations(runtime.db, accountId, { type: 'phone', value: contact })

/** A contact with an open conversation, whose row is locked until `unlock` is called. */
export async function lockedConversation(service: TestService, account: Account) {
  const contact = newContact()
  await attemptedSend(service, account, { outcome: 'sent' }, textBody('First', contact))
  const client = await service.runtime.db.$client.connect()
  await client.query('begin')
  await client.query('select from conversations where contact_value = $1 for update', [contact])
  const unlock = async () => {
    await client.query('rollback')
    client.release()
  }
  return { contact, unlock }
}

export const waitingBackends = async ({ runtime }: TestService) =>
  (await runtime.db.$client.query(waitingForLocks)).rows

export const untilWaiting = (service: TestService, count: number) =>
  eventually(`${count} waiting for the lock`, async () => (await waitingBackends(service)).length === count)
