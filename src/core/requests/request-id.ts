import { dayMs, hourMs } from '../durations.ts'
import { madeAtMs } from './record-id.ts'

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi
/** A UUIDv7 from a tool that removes the dashes. A trace id looks the same, except for the version. */
const withoutDashes = /(?<![0-9a-f])[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}(?![0-9a-f])/i

/** A name before a value: `"requestId":"`, `\"requestId\": \"`, `X-Request-Id: `, `request_id=`. */
const label = /([\w-]+)[\\"']*\s*(?:[:=]|%3[ad])\s*[\\"']*(?:%22)?$/i
const isOfRequest = /request[-_]?id$/i
const isOfOther = /id$/i
const longestLabel = 60

/** The ids in a pasted text: those named requestId, those without a name, and those with another one. In lower case, each once. */
export interface FoundIds {
  requestId: string[]
  unnamed: string[]
  named: string[]
}

/** Finds ids alone, in quotes, in URLs or in whole log lines; if there is none, one that was broken over two lines. */
export function findIds(pasted: string): FoundIds {
  const text = withPlainDashes(pasted)
  const found = findIn(text)
  const isNone = Object.values(found).every((ids) => ids.length === 0)
  return isNone ? findIn(text.replaceAll(/\s+/g, '')) : found
}

/** The id with the name requestId, else the first one that has no other name. Undefined if there is none. */
export function findRequestId(pasted: string): string | undefined {
  const { requestId, unnamed, named } = findIds(pasted)
  return [...requestId, ...unnamed, ...named][0]
}

function findIn(text: string): FoundIds {
  const found = { requestId: new Set<string>(), unnamed: new Set<string>(), named: new Set<string>() }
  for (const { 0: id, index } of text.matchAll(uuids)) {
    const name = label.exec(text.slice(Math.max(0, index - longestLabel), index))?.[1] ?? ''
    const kind = isOfRequest.test(name) ? 'requestId' : isOfOther.test(name) ? 'named' : 'unnamed'
    found[kind].add(id.toLowerCase())
  }
  const ids = { requestId: [...found.requestId], unnamed: [...found.unnamed], named: [...found.named] }
  if (Object.values(ids).some((some) => some.length > 0)) return ids
  const plain = withoutDashes.exec(text)?.[0].toLowerCase()
  if (plain === undefined) return ids
  return {
    ...ids,
    unnamed: [[8, 13, 18, 23].reduce((id, at) => `${id.slice(0, at)}-${id.slice(at)}`, plain)],
  }
}

/** Replaces the dashes of word processors and chats, and removes their invisible characters. */
function withPlainDashes(text: string): string {
  return text.replaceAll(/[\p{Pd}\u2212]/gu, '-').replaceAll(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, '')
}

export interface UnknownIdFacts {
  now: Date
  retentionDays: number
}

/** Why there is no send for a text, and what to do. */
export interface UnknownId {
  /** The id in the text; absent if there is none. */
  requestId?: string
  /** One or two sentences. */
  why: string
  /** Sentences with what to do next; a command is between backticks. */
  next: string[]
}

/** The clock of the API that made the id may have been wrong by this much. */
const clockSkewMs = hourMs
const form = 'A requestId has 36 characters, such as 01a1fde3-04b0-709e-bec0-b940cc7af3c0'

/** @param text a text without an id, or with an id of no send. */
export function explainUnknownId(text: string, { now, retentionDays }: UnknownIdFacts): UnknownId {
  const requestId = findRequestId(text)
  if (requestId === undefined)
    return { why: whyNone(text), next: ['Copy the whole id, or the whole log line.'] }
  const made = madeAt(requestId)
  const notOurs = [
    'Check where the id was copied from: it may be an id of another system, or of the provider.',
  ]
  if (!made) {
    return {
      requestId,
      why: 'This is not a requestId of this service, which are UUIDs of version 7.',
      next: notOurs,
    }
  }
  const at = `${made.toISOString().replace('T', ' ').slice(0, 19)} UTC`
  if (made.getTime() > now.getTime() + clockSkewMs) {
    return {
      requestId,
      why: `This is not a requestId of this service: its time, ${at}, is in the future.`,
      next: notOurs,
    }
  }
  const search = `Search the logs of that time: \`grep ${requestId}\``
  if (now.getTime() - made.getTime() > retentionDays * dayMs) {
    return {
      requestId,
      why: `No send has this id. It was made at ${at}, more than ${retentionDays} days ago (RETENTION_DAYS): a send that ended that long ago has been deleted.`,
      next: [`${search}, if they are kept longer.`],
    }
  }
  return {
    requestId,
    why: `No send has this id. It was made at ${at}: most likely for a request that was refused, and so never became a send. It may also be the id of a channel, a flow or a conversation.`,
    next: [
      `${search}; a line with the event rejected has the statusCode and the reason, a line with unavailable means a 503.`,
      'If the logs do not contain it, it belongs to another environment, or to no request.',
    ],
  }
}

function whyNone(text: string): string {
  if (text.trim() === '') return `The text is empty. ${form}.`
  if (/[0-9a-f]{8}-[0-9a-f]{1,4}/i.test(text)) return `The id is cut off or mistyped. ${form}.`
  return `The text contains no requestId. ${form}.`
}

/** The time at the beginning of a UUIDv7; undefined for any other id. */
function madeAt(id: string): Date | undefined {
  if (!/^.{14}7.{4}[89ab]/.test(id)) return undefined
  return new Date(madeAtMs(id))
}
