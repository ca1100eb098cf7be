import { inArray } from 'drizzle-orm'
import { expect } from 'vitest'
import { maxReceipts } from '../../../db/receipts/receipt-rule.ts'
import { media as mediaTable, scheduledSends, sends } from '../../../db/schema.ts'
import { isOfReceipt } from '../../../src/core/sends/timeline.ts'
import type { EventFields } from '../../../src/core/sends/timeline-events.ts'
import { timelineOf } from '../../support/attempts.ts'
import type { Exchange } from './laws.ts'
import { receivingConfigs } from './receiving-configs.ts'
import type { HostileRequest } from './requests.ts'
import type { World } from './world.ts'

/** A body that was accepted: of the form that docs/reference/api.md#body describes. */
interface TakenBody {
  channelId?: string
  contact: { value: string; type?: 'phone' | 'email' | null; name?: string | null }
  message: {
    type: 'text' | 'template' | 'media'
    text?: { value: string }
    template?: { name: string; variables?: { key: string; value: string }[] | null }
    media?: Record<
      'mediaType' | 'mimetype' | 'filename' | 'caption' | 'base64' | 'mediaUrl',
      string | null | undefined
    >
    flowId?: string | null
    closeConversation?: boolean | null
  }
  flowId?: string | null
  closeConversation?: boolean | null
  sendAt?: string | null
  reference?: string | null
  expiresInSeconds?: number | null
  metadata?: Record<string, string> | null
  email?: { attachments?: GivenFile[] | null; [field: string]: unknown } | null
}

type GivenFile = Record<string, string | number | null | undefined>

/** Every send that was answered 202 is in PostgreSQL with what was sent, nothing altered and nothing added. */
export async function expectRecorded({ service, stranger }: World, accepted: Exchange[]): Promise<void> {
  const { db } = service.runtime
  const ids = accepted.map(({ json }) => String(json?.requestId))
  if (ids.length === 0) return
  const rows = [
    ...(await db.select().from(sends).where(inArray(sends.requestId, ids))),
    ...(await db.select().from(scheduledSends).where(inArray(scheduledSends.requestId, ids))),
  ]
  const contents = await db.select().from(mediaTable).where(inArray(mediaTable.requestId, ids))
  for (const [index, { request }] of accepted.entries()) {
    const row = rows.find(({ requestId }) => requestId === ids[index])
    const content = contents.find(({ requestId }) => requestId === ids[index])?.content
    const body = bodyOf(request)
    expect({ ...row, message: undefined }).toMatchObject(expectedRow(request, body, stranger))
    expect(row && messageOf(row.message)).toStrictEqual(expectedMessage(body))
    expect(mailOf(row?.message.email)).toStrictEqual(mailOf(body.email))
    expect(content?.toString('latin1')).toBe(contentOf(body)?.toString('latin1'))
  }
}

/** Expects that each send with receipts has some of them recorded: no more than 50, and each once. */
export async function expectReceiptsRecorded({ service, targets }: World): Promise<void> {
  for (const { provider, sentId } of targets) {
    if (sentId === undefined || !Object.hasOwn(receivingConfigs, provider)) continue
    const { status, delivery, events } = await timelineOf(service, sentId)
    const receipts = events.filter(isOfReceipt)
    expect({ status, delivery }).toEqual({ status: 'sent', delivery: expect.any(String) })
    expect(receipts.length).toBeLessThanOrEqual(maxReceipts)
    const words = receipts.map(({ at: _, ...receipt }) => {
      const { providerStatus, providerCode, providerMessageId } = receipt as EventFields['receipt']
      return JSON.stringify([providerStatus, providerCode, providerMessageId])
    })
    expect(new Set(words).size).toBe(words.length)
  }
}

export function bodyOf({ body }: HostileRequest): TakenBody {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
}

function expectedRow(
  { target: meant, route, headers }: HostileRequest,
  body: TakenBody,
  stranger: World['stranger'],
) {
  const { contact, message } = body
  // With another account's key, and by chance its channel too, the send is that account's.
  const isStrangers = headers.some(([, value]) => value === `Bearer ${stranger.apiKey}`)
  const target = isStrangers ? stranger : meant
  if (route === 'channelInBody') expect(body.channelId).toBe(target.channelId)
  const { type: contactType } = { ...contact, type: contact.type ?? 'phone' }
  return {
    accountId: target.accountId,
    channelId: target.channelId,
    contactType,
    contactValue: normalised(contactType, contact.value),
    contactName: contact.name ?? null,
    flowId: body.flowId ?? message.flowId ?? null,
    closeConversation: body.closeConversation ?? message.closeConversation ?? false,
    messageType: message.type,
    sendAt: body.sendAt ? new Date(body.sendAt) : null,
    reference: body.reference ?? null,
    expiresInSeconds: body.expiresInSeconds ?? null,
    metadata: body.metadata ?? null,
  }
}

function normalised(type: 'phone' | 'email', value: string): string {
  if (type === 'phone') return `+${value.replace(/\D/g, '').replace(/^00/, '')}`
  const at = value.lastIndexOf('@')
  return value.slice(0, at) + value.slice(at).toLowerCase()
}

/** Without what the service adds: a template's registration, the size of a media and the type that it was recognised as. */
function messageOf({ email: _mail, ...message }: (typeof sends.$inferSelect)['message']) {
  if (message.type === 'text') return message
  if (message.type === 'template') {
    const { definition: _, ...template } = message.template
    return { type: message.type, template }
  }
  const { sizeBytes: _, mimetype: __, ...media } = message.media
  return { type: message.type, media }
}

function expectedMessage({ message }: TakenBody) {
  const { type } = message
  if (type === 'text') return { type, text: message.text }
  if (type === 'template') {
    return { type, template: { name: message.template?.name, variables: message.template?.variables ?? [] } }
  }
  const { base64: _, mimetype: __, ...rest } = { ...message.media }
  return { type, media: Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)) }
}

/** Without what the service adds to files, and without their bytes. */
function mailOf(email: object | null | undefined) {
  if (!email) return undefined
  const { attachments, ...fields } = email as NonNullable<TakenBody['email']>
  const files = attachments?.map(({ base64: _, sizeBytes: __, mimetype: ___, ...file }) => file)
  return { ...fields, ...(files && { attachments: files }) }
}

/** That of the media, then those of attachments. */
function contentOf({ message, email }: TakenBody): Buffer | undefined {
  const contents = [message.media?.base64, ...(email?.attachments ?? []).map(({ base64 }) => base64)]
  const given = contents.filter((base64) => typeof base64 === 'string')
  if (given.length === 0) return undefined
  return Buffer.concat(given.map((base64) => Buffer.from(base64.replace(/^data:[^,]*,/, ''), 'base64')))
}
