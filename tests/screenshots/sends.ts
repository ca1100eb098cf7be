import { createHash } from 'node:crypto'
import type { Database } from '../../db/connection/client.ts'
import { accounts, channels, conversations, sandboxMessages, sendEvents, sends } from '../../db/schema.ts'
import type { Message } from '../../src/core/messages/message.ts'
import type { AttemptRecord } from '../../src/core/sends/timeline.ts'

/** The day of all that is shown. */
const day = '2026-11-20'
const worker = 'worker-1-4711-b217b8'

export const moment = (time: string) => new Date(`${day}T${time}Z`)

/** A UUIDv7 of that moment, the same each time. */
export function idAt(time: string, of = 'send'): string {
  const at = moment(time).getTime().toString(16).padStart(12, '0')
  const rest = createHash('sha256').update(`${time} ${of}`).digest('hex')
  return `${at.slice(0, 8)}-${at.slice(8)}-7${rest.slice(0, 3)}-9${rest.slice(3, 6)}-${rest.slice(6, 18)}`
}

export const accountId = idAt('08:00:00')
export const channelIds = { whatsApp: idAt('08:00:01'), mail: idAt('08:00:02'), sandbox: idAt('08:00:03') }

interface Attempt {
  from: string
  to: string
  answer: Partial<AttemptRecord> & Pick<AttemptRecord, 'outcome'>
}

interface Send {
  accepted: string
  channel: keyof typeof channelIds
  contact: string
  name?: string
  message: Message
  /** All but the last were retried. */
  attempts: Attempt[]
  /** Id of the conversation that it closed. */
  closed?: string
}

/** Writes a send that has ended, as the API and a worker leave it. */
export async function keepSend(db: Database, send: Send): Promise<string> {
  const { accepted, channel, contact, message, attempts, closed } = send
  const requestId = idAt(accepted)
  const conversationId = idAt(attempts[0]?.from ?? accepted, 'conversation')
  const contactType = contact.includes('@') ? 'email' : 'phone'
  const last = attempts.at(-1)
  const record = last && recordOf(last, attempts.length)
  await db
    .insert(conversations)
    .values({
      id: conversationId,
      accountId,
      contactType,
      contactValue: contact,
      openedAt: moment(attempts[0]?.from ?? accepted),
    })
    .onConflictDoNothing()
  const events = eventsOf(send)
  if (events.length > 0) await db.insert(sendEvents).values(events.map((event) => ({ requestId, ...event })))
  await db.insert(sends).values({
    requestId,
    accountId,
    channelId: channelIds[channel],
    contactType,
    contactValue: contact,
    contactName: send.name ?? null,
    messageType: message.type,
    message,
    closeConversation: closed !== undefined,
    conversationId,
    status: record?.outcome === 'sent' ? 'sent' : record?.outcome === 'uncertain' ? 'uncertain' : 'failed',
    acceptedAt: moment(accepted),
    finishedAt: moment(last?.to ?? accepted),
    attempt: attempts.length,
    worker,
    claimedAt: moment(last?.from ?? accepted),
    attemptRecord: record ?? null,
    providerMessageId: record?.providerMessageId ?? null,
    failure: record?.reason ?? null,
  })
  if (channel === 'sandbox') {
    const to = { contactType, contactValue: contact, contactName: send.name ?? null } as const
    const received = {
      channelId: channelIds.sandbox,
      conversationId,
      receivedAt: moment(last?.to ?? accepted),
    }
    await db
      .insert(sandboxMessages)
      .values({ id: idAt(accepted, 'received'), requestId, ...to, ...received, message })
  }
  return requestId
}

function eventsOf({ attempts, closed }: Send) {
  const [first, ...others] = attempts
  const closing =
    closed === undefined || !first
      ? []
      : [{ at: moment(first.from), event: 'conversation_closed', fields: { conversationId: closed } }]
  const retried = attempts.slice(0, -1).flatMap((attempt, index) => {
    const { reason, ...record } = recordOf(attempt, index + 1)
    const next = others[index]?.from ?? attempt.to
    return [
      { at: moment(attempt.from), event: 'attempt_started', fields: { attempt: index + 1, worker } },
      { at: moment(attempt.to), event: 'attempt_finished', fields: { ...record, reason } },
      {
        at: moment(attempt.to),
        event: 'retry_scheduled',
        fields: { reason, nextAttemptAt: moment(next).toISOString() },
      },
    ]
  })
  return [...closing, ...retried]
}

function recordOf({ from, to, answer }: Attempt, attempt: number): AttemptRecord {
  const durationMs = moment(to).getTime() - moment(from).getTime()
  return { attempt, durationMs, providerStatus: null, providerCode: null, providerMessageId: null, ...answer }
}

/** The account and its channels. */
export async function keepChannels(db: Database): Promise<void> {
  await db.insert(accounts).values({ id: accountId, name: 'Acme' })
  const fields = { accountId, sealedConfig: '', onUncertain: 'hold' as const }
  await db.insert(channels).values([
    { ...fields, id: channelIds.whatsApp, provider: 'whatsapp-cloud', name: 'WhatsApp' },
    { ...fields, id: channelIds.mail, provider: 'smtp', name: 'Mail' },
    { ...fields, id: channelIds.sandbox, provider: 'sandbox', name: 'Sandbox' },
  ])
}
