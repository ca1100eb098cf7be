import { namesOf } from '../../../db/accounts/names.ts'
import type { Database } from '../../../db/connection/client.ts'
import { withoutCode } from '../../../db/sends/both-tables.ts'
import { faultWords } from '../numbers/fault-words.ts'
import { type ListInput, type listStates, momentOf } from './list-form.ts'
import type { ResolvedList } from './resolve-list.ts'

const stateWords: Record<(typeof listStates)[number], string> = {
  queued: 'Queued sends',
  sending: 'Sends whose provider is being called',
  sent: 'Sent ones',
  failed: 'Failed sends',
  uncertain: 'Uncertain sends',
  canceled: 'Canceled sends',
  scheduled: 'Scheduled sends',
  waiting: 'Sends that wait, scheduled ones included,',
  waiting_now: 'Sends that wait now, without scheduled ones,',
}

const isState = (text: string | undefined): text is keyof typeof stateWords =>
  text !== undefined && Object.hasOwn(stateWords, text)

/** A time of a link may have an offset, and be faulty: then it is repeated as it is. */
function utc(text: string): string {
  const at = momentOf(text)
  if (!at) return text
  const [day, time = ''] = at.toISOString().split('T')
  return `${day} ${time.slice(0, 'hh:mm:ss'.length).replace(/:00$/, '')} UTC`
}

/** The filters of a list, in a sentence without its end. @param names of the account and the channel, if they are known. */
export function describeList(
  input: ListInput,
  names: { account?: string | undefined; channel?: string | undefined; flow?: string | undefined } = {},
): string {
  const { status, accountId, channelId, flowId, reference, providerCode, fault, reason, delivery } = input
  const { priority, contact, messageId, acceptedFrom, acceptedTo, dueFrom, dueTo } = input
  const parts = [
    accountId && `of the account ${names.account ?? accountId}`,
    channelId && `of the channel ${names.channel ?? channelId}`,
    flowId && `in the flow ${names.flow ?? flowId}`,
    contact && 'to the contact of your search',
    messageId && 'with the provider message id of your search',
    reference && `with the reference ${reference}`,
    providerCode && (providerCode === withoutCode ? 'without a code' : `with the code ${providerCode}`),
    fault && `gone wrong ${faultWords(fault)}`,
    reason && `with “${reason}” in the reason`,
    priority && `of the priority ${priority}`,
    delivery && `reported as ${delivery}`,
    acceptedFrom && `accepted from ${utc(acceptedFrom)}`,
    acceptedTo && `accepted before ${utc(acceptedTo)}`,
    dueFrom && `due from ${utc(dueFrom)}`,
    dueTo && `due before ${utc(dueTo)}`,
  ].filter(Boolean)
  return [isState(status) ? stateWords[status] : 'Sends', parts.join(', ')].filter(Boolean).join(' ')
}

/** The same, with the names of what the list is of. */
export async function sentenceOf(
  db: Database,
  input: ListInput,
  { accountId = '', channelId = '', flowId = '' }: Pick<ResolvedList, 'accountId' | 'channelId' | 'flowId'>,
): Promise<string> {
  const names = await namesOf(db, [accountId, channelId, flowId].filter(Boolean))
  return describeList(input, {
    account: names.get(accountId),
    channel: names.get(channelId),
    flow: names.get(flowId),
  })
}
