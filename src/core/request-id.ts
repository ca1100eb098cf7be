const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi
/** As tools leave it that drop the dashes; a trace id looks alike, but for the version. */
const withoutDashes = /(?<![0-9a-f])[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}(?![0-9a-f])/i

/** What stands before a value and names it: `"requestId":"`, `\"requestId\": \"`, `X-Request-Id: `, `request_id=`. */
const label = /([\w-]+)[\\"']*\s*(?:[:=]|%3[ad])\s*[\\"']*(?:%22)?$/i
const isOfRequest = /request[-_]?id$/i
const isOfOther = /id$/i
const longestLabel = 60

/**
 * The requestId in whatever was pasted: in quotes, in a URL, in a whole log line. Of several ids the one that is named
 * so counts, else the first that isn't named otherwise. Undefined where there is none.
 */
export function findRequestId(pasted: string): string | undefined {
  const text = withPlainDashes(pasted)
  return findIn(text) ?? findIn(text.replaceAll(/\s+/g, ''))
}

function findIn(text: string): string | undefined {
  const found = [...text.matchAll(uuids)].map(({ 0: id, index }) => {
    const name = label.exec(text.slice(Math.max(0, index - longestLabel), index))?.[1] ?? ''
    return { id: id.toLowerCase(), name }
  })
  const best =
    found.find(({ name }) => isOfRequest.test(name)) ??
    found.find(({ name }) => !isOfOther.test(name)) ??
    found[0]
  if (best) return best.id
  const plain = withoutDashes.exec(text)?.[0].toLowerCase()
  return plain && [8, 13, 18, 23].reduce((id, at) => `${id.slice(0, at)}-${id.slice(at)}`, plain)
}

/** Word processors and chats write other dashes, and leave marks that nobody sees. */
function withPlainDashes(text: string): string {
  return text.replaceAll(/[\p{Pd}\u2212]/gu, '-').replaceAll(/[\u00ad\u200b-\u200d\u2060\ufeff]/g, '')
}

export interface UnknownIdFacts {
  now: Date
  retentionDays: number
}

/** Why an id is no send, and what to do. */
export interface UnknownId {
  /** The id that was found in it; absent where none was. */
  requestId?: string
  /** A sentence or two. */
  why: string
  /** What to do next, each a sentence; a command stands between backticks. */
  next: string[]
}

const dayMs = 86_400_000
/** An API's clock may be wrong, or have been, when it made the id. */
const clockSkewMs = 60 * 60_000
const form = 'A requestId has 36 characters, such as 01a1fde3-04b0-709e-bec0-b940cc7af3c0'

/** @param text as it was given: it holds no id, or one that was looked up in vain. */
export function explainUnknownId(text: string, { now, retentionDays }: UnknownIdFacts): UnknownId {
  const requestId = findRequestId(text)
  if (requestId === undefined)
    return { why: whyNone(text), next: ['Copy the whole id, or the whole log line.'] }
  const made = madeAt(requestId)
  const notOurs = [
    'Look where the id was copied from: it may be an id of another system, or of the provider.',
  ]
  if (!made) {
    return { requestId, why: 'No requestId of this service: those are UUIDs of version 7.', next: notOurs }
  }
  const at = `${made.toISOString().replace('T', ' ').slice(0, 19)} UTC`
  if (made.getTime() > now.getTime() + clockSkewMs) {
    return {
      requestId,
      why: `No requestId of this service: its time, ${at}, has yet to come.`,
      next: notOurs,
    }
  }
  const search = `Search the logs of that time: \`grep ${requestId}\``
  if (now.getTime() - made.getTime() > retentionDays * dayMs) {
    return {
      requestId,
      why: `No send has this id. It was made at ${at}, more than ${retentionDays} days ago (RETENTION_DAYS): a send that ended so long ago is removed.`,
      next: [`${search}, where they are kept longer.`],
    }
  }
  return {
    requestId,
    why: `No send has this id. It was made at ${at}: most likely for a request that was refused, and so never became a send. A channel, a flow or a conversation has such an id, too.`,
    next: [
      `${search}; the line with the event rejected has the statusCode and the reason, and one with unavailable tells of a 503.`,
      'Where the logs know nothing of it, it is of another environment, or no request.',
    ],
  }
}

function whyNone(text: string): string {
  if (text.trim() === '') return `Nothing was given. ${form}.`
  if (/[0-9a-f]{8}-[0-9a-f]{1,4}/i.test(text)) return `The id is cut off or mistyped. ${form}.`
  return `That holds no requestId. ${form}.`
}

/** A UUIDv7 begins with its time. */
function madeAt(id: string): Date | undefined {
  if (!/^.{14}7.{4}[89ab]/.test(id)) return undefined
  return new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16))
}
