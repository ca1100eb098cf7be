import { foldContactValue } from '../../src/core/contacts/contact.ts'
import type { ListQuery } from '../../src/core/requests/list-query.ts'
import { postedChannel } from '../accounts/posted-channel.ts'
import type { Database } from '../connection/client.ts'
import { folded, isContact } from '../delivery/contact-rule.ts'
import {
  countedCodeOfSend,
  faultOfSend,
  isWithoutCode,
  providerCodeOfSend,
  reasonOfSend,
  withoutCode,
} from './both-tables.ts'
import { byAccept, byId, type Order, Values } from './list-order.ts'

/** The filters of lists: those of the API, and more for people. Absent filters match all. */
export interface SendsQuery extends ListQuery {
  /** Words in the reason, in either case. */
  reason?: string | undefined
  /** Any of these ids, given by the provider at the last attempt. There is no index for them. */
  providerMessageIds?: string[] | undefined
  /** Only those that wait for their time, or none of these. */
  scheduled?: boolean | undefined
  /** Only those that have not ended: `all`; or `now`, without scheduled ones: a channel is that by which they go now. */
  waiting?: 'all' | 'now' | undefined
  /** The provider's code, or its status if it gave none, or `withoutCode`: as failures are counted. */
  code?: string | undefined
  /** Whose fault it was, or what ended it without a call: as failures are counted. */
  fault?: string | undefined
  /**
   * Reads the failures of a channel by the index of failures. Its order is nearly that of the list: where a page ends because
   * enough was looked at, a send accepted at that moment may be left out.
   */
  near?: boolean | undefined
  /** Only those that wait until this time or later: for the time of a scheduled send, or for the next attempt of a queued one. */
  dueFrom?: Date | undefined
  /** Only those that wait for an earlier time. */
  dueTo?: Date | undefined
  /** Any order will do: unfinished sends and failures are found by their indexes, however many they are. */
  anyOrder?: boolean | undefined
}

/** Up to so many sends of a contact or a reference, unfinished ones, or failures, are found by their own index, and sorted. */
const few = 2000

/** Where a statement finds its sends: the conditions of the index that it uses, and those that it checks on each send. */
export interface Source {
  found: string
  checked: string
  /** In which order they are read, up to the limit. Without it `found` is so narrow that all are read. */
  scan?: string
}

/** The sources of the two tables. */
export interface Sources {
  order: Order
  sends?: Source | undefined
  scheduled?: Source | undefined
}

/** @param accountId undefined for all accounts, in the order of their ids. */
export async function sourcesOf(
  db: Database,
  accountId: string | undefined,
  query: SendsQuery,
  values: Values,
): Promise<Sources> {
  const order = accountId === undefined ? byId : byAccept
  const has = tablesOf(query)
  const conditions = filtersOf(query, has, values)
  const account = accountId === undefined ? [] : [`s.account_id = ${values.add(accountId)}::uuid`]
  const inOrder = [...account, ...placeOf(query, order, values)]
  const ordered = (checked: readonly string[], found: readonly string[] = [], scan = order.newestFirst) =>
    source([...found, ...inOrder], checked, scan)
  /** By an index of few sends, or else in their order. */
  const byIndex = async (table: string, found: Matching, value: string, checked: readonly string[]) =>
    (await hasFew(db, `select from ${table} s where ${found('$1')}`, [value]))
      ? source([found(values.add(value))], [...inOrder, ...checked])
      : ordered([found(values.add(value)), ...checked])
  const both = async (
    sources: (table: string, checked: string[]) => Promise<Source> | Source,
  ): Promise<Sources> => ({
    order,
    sends: has.sends ? await sources('sends', conditions.ofSends) : undefined,
    scheduled: has.scheduled ? await sources('scheduled_sends', conditions.ofScheduled) : undefined,
  })
  const { contact, reference } = query
  if (reference !== undefined && accountId !== undefined)
    return await both((_, checked) => ordered(checked, [`s.reference = ${values.add(reference)}`]))
  if (reference !== undefined)
    return await both((table, checked) => byIndex(table, hasReference, reference, checked))
  if (contact !== undefined)
    return await both((table, checked) =>
      byIndex(table, hasContact, foldContactValue(contact.value), checked),
    )
  const rare = has.sends ? await rareSource(db, { accountId, query, values, conditions, inOrder }) : undefined
  return await both((table, checked) => (table === 'sends' && rare) || ordered(checked))
}

/** SQL of the sends that are found for a parameter. */
type Matching = (value: string) => string

const hasReference: Matching = (value) => `s.reference = ${value}`
const hasContact: Matching = (value) => isContact('s.contact_value', value)

const source = (found: readonly string[], checked: readonly string[], scan?: string): Source => ({
  found: found.join(' and ') || 'true',
  checked: checked.join(' and ') || 'true',
  ...(scan !== undefined && { scan }),
})

const isByDue = ({ dueFrom, dueTo }: SendsQuery) => dueFrom !== undefined || dueTo !== undefined

/** Which of the tables can have sends of the query. */
function tablesOf({ status, scheduled, waiting, ...query }: SendsQuery) {
  const ofCalls = [
    query.delivery,
    query.providerCode,
    query.code,
    query.fault,
    query.reason,
    query.providerMessageIds,
  ]
  const mayBeScheduled =
    (status === undefined || status === 'queued') &&
    waiting !== 'now' &&
    ofCalls.every((filter) => filter === undefined)
  return { sends: scheduled !== true, scheduled: mayBeScheduled && scheduled !== false }
}

interface RareSends {
  accountId: string | undefined
  query: SendsQuery
  values: Values
  conditions: ReturnType<typeof filtersOf>
  inOrder: readonly string[]
}

/** Unfinished sends and failures have indexes by the channel. Undefined if they are many, or the query is of others. */
async function rareSource(
  db: Database,
  { accountId, query, values, conditions, inOrder }: RareSends,
): Promise<Source | undefined> {
  const { channelId, near } = query
  const status = query.status ?? (isByDue(query) ? 'queued' : undefined)
  const isFailure = status === 'failed' || status === 'uncertain'
  const isUnfinished = status === 'queued' || status === 'sending' || query.waiting !== undefined
  if (!isFailure && !isUnfinished) return undefined
  const isRare = isFailure ? 's.failure is not null' : 's.finished_at is null'
  // All channels of the account: a send to one may have fallen back to another.
  const theirs = (add: Values['add']): string =>
    accountId === undefined
      ? isRare
      : `s.channel_id = any(array(select id from channels where account_id = ${add(accountId)})) and ${isRare}`
  const counted = new Values()
  if (query.anyOrder || (await hasFew(db, `select from sends s where ${theirs(counted.add)}`, counted.list)))
    return source([theirs(values.add)], [...inOrder, ...conditions.ofSends])
  if (!near || !isFailure || channelId === undefined) return undefined
  const ofChannel = `s.channel_id = ${values.add(channelId)} and ${isRare}`
  return source([ofChannel, ...inOrder], conditions.ofSends, 'order by s.seq desc')
}

async function hasFew(db: Database, matching: string, values: unknown[]): Promise<boolean> {
  const { rows } = await db.$client.query<{ count: number }>(
    `select count(*)::int as count from (${matching} limit ${few + 1}) matching`,
    values,
  )
  return (rows[0]?.count ?? 0) <= few
}

/** Conditions on a send of each of the two tables. */
function filtersOf(
  query: SendsQuery,
  has: ReturnType<typeof tablesOf>,
  values: Values,
): { ofScheduled: string[]; ofSends: string[] } {
  const { status, delivery, channelId, flowId, contact, priority, reason, providerMessageIds } = query
  const { providerCode, code, fault } = query
  const channel = channelId === undefined ? undefined : `${values.add(channelId)}::uuid`
  const ofChannel = (column: string) => (channel === undefined ? [] : [`${column} = ${channel}`])
  const due = (column: string) =>
    [
      query.dueFrom && `${column} >= ${values.add(query.dueFrom)}::timestamptz`,
      query.dueTo && `${column} < ${values.add(query.dueTo)}::timestamptz`,
    ].filter((condition) => condition !== undefined)
  const anywhere = [
    priority !== undefined && `s.priority = ${values.add(priority)}::priority`,
    flowId !== undefined && `s.flow_id = ${values.add(flowId)}::uuid`,
    contact !== undefined &&
      `s.contact_type = ${values.add(contact.type)}::text and ${folded('s.contact_value')} = ${values.add(foldContactValue(contact.value))}::text`,
  ].filter((condition) => condition !== false)
  // PostgreSQL refuses a value that the statement doesn't use.
  const ofScheduled = [...ofChannel('s.channel_id'), ...anywhere, ...(has.scheduled ? due('s.send_at') : [])]
  if (!has.sends) return { ofScheduled, ofSends: [] }
  const ofSends = [
    ...(isByDue(query) ? ["s.status = 'queued'", 's.finished_at is null', ...due('s.next_attempt_at')] : []),
    query.waiting !== undefined && 's.finished_at is null',
    status !== undefined && `s.status = ${values.add(status)}::text`,
    delivery !== undefined && `s.delivery = ${values.add(delivery)}::text`,
    providerCode !== undefined && `${providerCodeOfSend} = ${values.add(providerCode)}::text`,
    code !== undefined &&
      (code === withoutCode ? isWithoutCode : `${countedCodeOfSend} = ${values.add(code)}::text`),
    fault !== undefined && `${faultOfSend} = ${values.add(fault)}::text`,
    reason !== undefined && `position(lower(${values.add(reason)}::text) in lower(${reasonOfSend})) > 0`,
    providerMessageIds !== undefined &&
      `s.provider_message_id = any(${values.add(providerMessageIds)}::text[])`,
  ].filter((condition) => condition !== false)
  const ofItsChannel = ofChannel(query.waiting === 'now' ? 's.channel_id' : postedChannel)
  return { ofScheduled, ofSends: [...ofItsChannel, ...anywhere, ...ofSends] }
}

/** Conditions on the place in the order. */
function placeOf({ after, acceptedFrom, acceptedTo }: SendsQuery, order: Order, values: Values): string[] {
  return [
    acceptedFrom && order.from(acceptedFrom, values),
    acceptedTo && order.to(acceptedTo, values),
    after && order.after(after, values),
  ].filter((condition) => condition !== undefined)
}

/** The account of a channel or a flow; undefined if the query names none. */
export async function ownerOf(
  db: Database,
  { channelId, flowId }: Pick<SendsQuery, 'channelId' | 'flowId'>,
): Promise<string | undefined> {
  const [table, id] = channelId !== undefined ? ['channels', channelId] : ['flows', flowId]
  if (id === undefined) return undefined
  const { rows } = await db.$client.query<{ id: string }>(
    `select account_id as id from ${table} where id = $1`,
    [id],
  )
  return rows[0]?.id
}
