import { eq } from 'drizzle-orm'
import type { Database } from '../../db/connection/client.ts'
import { media, sandboxMessages } from '../../db/schema.ts'
import { idAt, keepChannels, keepSend, moment } from './sends.ts'

const ann = { contact: '+4915123456789', name: 'Ann Example' }
const ben = { contact: '+4915198765432', name: 'Ben Example' }
const text = (value: string) => ({ type: 'text', text: { value } }) as const

const overloaded = {
  outcome: 'retry_later',
  providerStatus: 503,
  providerCode: '131016',
  reason: 'WhatsApp answered 503 with its code 131016: Service unavailable',
} as const

const accepted = (id: string) => ({ outcome: 'sent', providerStatus: 200, providerMessageId: id }) as const

export interface World {
  failed: string
  uncertain: string
  contact: string
}

/** A day of a small shop: the same rows each time, so that the pictures change only where the pages do. */
export async function keepWorld(db: Database, picture: Buffer): Promise<World> {
  await keepChannels(db)
  await keepMails(db)
  await keepChat(db, picture)
  const uncertain = await keepSend(db, {
    ...ben,
    accepted: '13:20:41.300',
    channel: 'whatsApp',
    message: text('Your table is booked'),
    attempts: [
      {
        from: '13:20:41.340',
        to: '13:20:42.902',
        answer: { outcome: 'uncertain', reason: 'the connection was lost after the request was sent' },
      },
    ],
  })
  await keepSend(db, {
    ...ann,
    accepted: '13:40:10.020',
    channel: 'whatsApp',
    message: text('Your parcel is on its way'),
    attempts: [
      {
        from: '13:40:10.051',
        to: '13:40:10.313',
        answer: accepted('wamid.HBgNNDkxNTEyMzQ1Njc4ORUCABEYEjA1'),
      },
    ],
  })
  const failed = await keepSend(db, {
    ...ann,
    accepted: '14:01:03.402',
    channel: 'whatsApp',
    message: text('Your parcel is here. Will you pick it up today?'),
    closed: idAt('13:40:10.051', 'conversation'),
    attempts: [
      { from: '14:01:45.498', to: '14:01:45.871', answer: overloaded },
      {
        from: '14:01:46.902',
        to: '14:01:47.166',
        answer: {
          outcome: 'rejected',
          providerStatus: 400,
          providerCode: '131026',
          reason: 'WhatsApp answered 400 with its code 131026: Message undeliverable',
        },
      },
    ],
  })
  return { failed, uncertain, contact: ann.contact }
}

async function keepMails(db: Database): Promise<void> {
  const mails = [
    ['09:12:07.114', 'ann@example.com', 'receipt'],
    ['10:45:52.638', 'ben@example.com', 'receipt'],
  ] as const
  for (const [time, contact, name] of mails) {
    const to = time.replace(/\d$/, '9')
    await keepSend(db, {
      accepted: time,
      contact,
      channel: 'mail',
      message: { type: 'template', template: { name, variables: [] } },
      attempts: [
        { from: time, to, answer: { ...accepted(`<${idAt(time)}@example.com>`), providerStatus: 250 } },
      ],
    })
  }
}

/** Stores the messages that the sandbox received. */
async function keepChat(db: Database, picture: Buffer): Promise<void> {
  const send = (time: string, to: typeof ann, message: Parameters<typeof keepSend>[1]['message']) =>
    keepSend(db, {
      ...to,
      accepted: time,
      channel: 'sandbox',
      message,
      attempts: [{ from: time, to: time, answer: accepted(idAt(time, 'received')) }],
    })
  await send('11:02:15.250', ben, text('Hello Ben, your order 4711 is packed.'))
  await send(
    '11:30:48.907',
    ann,
    text('Hello Ann, thank you for your order.\nWe will tell you when it leaves.'),
  )
  const shown = {
    mediaType: 'image',
    mimetype: 'image/png',
    filename: 'ticket.png',
    caption: 'Your ticket for the counter',
    sizeBytes: picture.length,
  } as const
  const requestId = await send('11:31:20.118', ann, { type: 'media', media: shown })
  await db
    .update(sandboxMessages)
    .set({ mediaContent: picture })
    .where(eq(sandboxMessages.requestId, requestId))
  await db.insert(media).values({ requestId, content: picture, createdAt: moment('11:31:20.118') })
}
