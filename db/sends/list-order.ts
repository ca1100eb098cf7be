import type { ListCursor } from '../../src/core/requests/list-query.ts'
import { firstIdAt } from '../../src/core/requests/record-id.ts'

/** Numbers the values of a statement as they are used. */
export class Values {
  readonly list: unknown[] = []
  add = (value: unknown): string => `$${this.list.push(value)}`
}

const acceptMicros = (micros: string) => `timestamptz 'epoch' + ${micros}::float8 * interval '1 microsecond'`

/** In which order sends are listed, the newest first, and which parts of it a query asks for. */
export interface Order {
  newestFirst: string
  from(value: Date, values: Values): string
  to(value: Date, values: Values): string
  after(place: ListCursor, values: Values): string
  /** Whether the first of two places is before the second one, or equal. */
  isUpTo(place: ListCursor, end: ListCursor): boolean
}

/** The order of an account's sends: exact, by the index that begins with the account. */
export const byAccept: Order = {
  newestFirst: 'order by s.accepted_at desc, s.request_id desc',
  from: (at, values) => `s.accepted_at >= ${values.add(at)}::timestamptz`,
  to: (at, values) => `s.accepted_at < ${values.add(at)}::timestamptz`,
  after: ({ acceptedAtMicros, requestId }, values) =>
    `(s.accepted_at, s.request_id) < (${acceptMicros(values.add(acceptedAtMicros))}, ${values.add(requestId)}::uuid)`,
  isUpTo: (place, end) =>
    BigInt(place.acceptedAtMicros) > BigInt(end.acceptedAtMicros) ||
    (place.acceptedAtMicros === end.acceptedAtMicros && place.requestId >= end.requestId),
}

/** The order of all accounts' sends, by the primary key: an id begins with the time of its request. */
export const byId: Order = {
  newestFirst: 'order by s.request_id desc',
  from: (at, values) => `s.request_id >= ${values.add(firstIdAt(at.getTime()))}::uuid`,
  to: (at, values) => `s.request_id < ${values.add(firstIdAt(at.getTime()))}::uuid`,
  after: ({ requestId }, values) => `s.request_id < ${values.add(requestId)}::uuid`,
  isUpTo: (place, end) => place.requestId >= end.requestId,
}
