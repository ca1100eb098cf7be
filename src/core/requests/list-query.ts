import { z } from 'zod'
import { anyContact, contactKinds, defaultContactType } from '../contacts/contact.ts'
import { type DeliveryState, deliveryStates } from '../receipts/receipt.ts'
import { type Priority, priorities } from '../sends/priority.ts'
import { type SendStatus, sendStatuses } from '../sends/timeline.ts'
import { isStorable } from './characters.ts'
import { contactInQuery, momentInQuery } from './decoded-plus.ts'
import { latestMicros } from './list-place.ts'
import { afterParameter, createReadQuery, limitParameter, oneOf, parsedText } from './query.ts'

/** The place of a send in the order of accepts: after which a page begins. */
export interface ListCursor {
  /** Microseconds since 1970, since a Date would lose them. */
  acceptedAtMicros: string
  requestId: string
}

/** The query of `GET /v1/messages`. Absent filters match all. */
export interface ListQuery {
  limit: number
  after?: ListCursor | undefined
  status?: SendStatus | undefined
  delivery?: DeliveryState | undefined
  channelId?: string | undefined
  flowId?: string | undefined
  contact?: NonNullable<ReturnType<typeof contactInQuery>> | undefined
  priority?: Priority | undefined
  reference?: string | undefined
  providerCode?: string | undefined
  acceptedFrom?: Date | undefined
  acceptedTo?: Date | undefined
}

const time = parsedText(momentInQuery, 'has to be a time with its offset, such as 2026-11-24T08:00:00Z', {
  format: 'date-time',
})
/** Opaque: one that no record can have is that of none. */
const id = z.string()
const storable = z.string().refine(isStorable, 'contains NUL or half a surrogate pair')

/** Each parameter: its form, and what it says. OpenAPI is made of this table. */
export const listParameters = {
  limit: limitParameter('sends'),
  after: afterParameter(readCursor),
  status: {
    schema: oneOf(sendStatuses),
    what: 'Only sends with this status.',
  },
  delivery: {
    schema: oneOf(deliveryStates),
    what: 'Only sends with this delivery state, as the provider reported it.',
  },
  channelId: { schema: id, what: 'Only sends of this channel.' },
  flowId: { schema: id, what: 'Only sends of this flow.' },
  contact: {
    schema: parsedText(contactInQuery, `has to be ${anyContact}`, {
      examples: [contactKinds[defaultContactType].example],
    }),
    what: 'Only sends to this contact. It is normalised as in a send. A `+` need not be written as `%2B`.',
  },
  priority: { schema: oneOf(priorities), what: 'Only sends with this `priority`.' },
  reference: { schema: storable, what: 'Only sends with this `reference`.' },
  providerCode: { schema: storable, what: 'Only sends with this `providerCode`.' },
  acceptedFrom: { schema: time, what: 'Only sends accepted at this time or later.' },
  acceptedTo: { schema: time, what: 'Only sends accepted before this time.' },
}

/** Reads the query. `issue` names each parameter that is unknown, repeated or unreadable. */
export const readListQuery: (
  query: URLSearchParams,
) => { query: ListQuery } | { issue: string; reason: string } = createReadQuery(listParameters)

const cursorBytes = 24

/** The cursor as clients get it. */
export function writeCursor({ acceptedAtMicros, requestId }: ListCursor): string {
  const bytes = Buffer.alloc(cursorBytes)
  bytes.writeBigInt64BE(BigInt(acceptedAtMicros))
  bytes.write(requestId.replaceAll('-', ''), 8, 'hex')
  return bytes.toString('base64url')
}

export function readCursor(text: string): ListCursor | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length !== cursorBytes || bytes.toString('base64url') !== text) return undefined
  const micros = bytes.readBigInt64BE()
  if (micros < 0n || micros > BigInt(latestMicros)) return undefined
  const hex = bytes.subarray(8).toString('hex')
  const requestId = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)]
  return { acceptedAtMicros: String(micros), requestId: requestId.join('-') }
}
