import type { readChannelFields } from '../../../db/accounts/channels.ts'
import { insertSends } from '../../../db/admission/accepts.ts'
import { recordAudit } from '../../../db/audit/record.ts'
import { inTransaction } from '../../../db/connection/client.ts'
import { markTry } from '../../../db/sends/tries.ts'
import type { ProviderRules } from '../../core/channels/provider.ts'
import { type Contact, maskContact } from '../../core/contacts/contact.ts'
import { contentOf, messageSchema } from '../../core/messages/message-body.ts'
import { smsSizeOf } from '../../core/messages/segments.ts'
import { describeIssue, describeIssues } from '../../core/requests/issues.ts'
import { newId } from '../../core/requests/new-id.ts'
import { sendIssue } from '../../core/sends/send-issue.ts'
import { type Logger, logEvent } from '../../platform/log/logger.ts'
import type { Shard } from '../../queue/shard.ts'
import { createTolerantWake } from '../../queue/wake-sends.ts'
import type { Making } from '../making.ts'
import { SetupFault } from '../setup-fault.ts'

/** An operator waits for it: what can't go within this time isn't sent any more. */
const triedForSeconds = 600
/** Far beyond a transaction: nobody waits for an answer that would be late. */
const recordWithinMs = 3_600_000

interface Trying extends Making {
  log: Logger
  shards: readonly Shard[]
}

export interface Try {
  channelId: string
  accountId: string
  channel: NonNullable<Awaited<ReturnType<typeof readChannelFields>>>
  rules: ProviderRules
  contact: Contact
  text: string
}

/**
 * Sends a text by a channel, as a client would, before all others that wait. Its timeline says that it is a try.
 *
 * @returns its requestId.
 * @throws SetupFault if the channel can't send it.
 */
export async function tryChannel({ db, actor, log, shards }: Trying, given: Try): Promise<string> {
  const { channelId, accountId, contact, rules } = given
  const { ordering, countries } = given.channel
  const message = textMessage(given.text)
  const issue = sendIssue(rules, { contact, message, countries, hasPublicUrl: false })
  if (issue) throw new SetupFault(/^contact/.test(issue) ? 'contact' : 'text', issue.replace(/^[\w.]+: /, ''))
  const requestId = newId()
  const send = {
    requestId,
    accountId,
    channelId,
    apiKeyId: null,
    contact,
    message,
    flowId: undefined,
    closeConversation: false,
    priority: 'urgent',
    ordering,
    expireAfterSeconds: triedForSeconds,
    idempotency: undefined,
    recordBy: new Date(Date.now() + recordWithinMs),
    ...smsSizeOf(rules, contact, message),
  } as const
  const recorded = await inTransaction(db, async (transaction) => {
    const recorded = await insertSends(transaction, [send])
    await markTry(transaction, requestId)
    const row = { ...actor, action: 'channel.try', target: channelId, details: { requestId } } as const
    await recordAudit(transaction, row)
    return recorded
  })
  const fields = { accountId, channelId, contact: maskContact(contact), messageType: message.type }
  logEvent(log, requestId, 'accepted', fields)
  logEvent(log, requestId, 'tried', { by: actor.by })
  await createTolerantWake({ log, shards }, 'try_not_woken')(recorded)
  return requestId
}

function textMessage(value: string) {
  const parsed = messageSchema([], {}).safeParse({ type: 'text', text: { value } }, { error: describeIssue })
  if (!parsed.success)
    throw new SetupFault('text', describeIssues(parsed.error.issues).replace(/^[\w.]+: /, ''))
  return contentOf(parsed.data).message
}
