import { contactTypes, isContactType } from '../../src/core/contacts/contact.ts'
import type { ListCursor } from '../../src/core/requests/list-query.ts'
import { type PastedKindName, type Recognised, recognise } from '../../src/core/search/recognise.ts'
import { type CodeMeaning, isKnownCode, meaningsOf } from '../../src/providers/look-up-code.ts'
import type { Database } from '../connection/client.ts'
import { listSends } from '../sends/list.ts'
import {
  type Target,
  targetsNamedIn,
  targetsOfContacts,
  targetsWithIds,
  targetsWithReferences,
} from './targets.ts'

/** One kind of identifier in a text, and its matches; empty if there are none. */
export interface LookedUpKind {
  kind: PastedKindName
  values: string[]
  targets: Target[]
}

/** The kind that a pasted text was taken as, and what it leads to. */
export interface LookedUp {
  looked: LookedUpKind[]
  /** The meanings of the codes in it. */
  codes: CodeMeaning[]
  /** Phone numbers in it that lack their country code. */
  localNumbers: string[]
  /** The one thing that it leads to. */
  only: Target | undefined
  /** There is no index for the message ids of providers: from where to look further, and until when was looked. */
  further: { after: ListCursor; lookedBackTo: Date } | undefined
}

/** So many sends are looked at for a provider's message id. */
const lookedAtForMessageId = 100_000
const maxWithMessageId = 20

/** The surest first. Once something was found, those after it are not looked for. */
const groups: PastedKindName[][] = [
  ['requestId'],
  ['id'],
  ['namedId'],
  ['messageId'],
  contactTypes,
  ['reference', 'name'],
  ['possiblePhone'],
  ['possibleMessageId'],
]
/** The kinds that the text's form shows. Any text may be one of the others. */
const isSure: ReadonlySet<PastedKindName> = new Set([
  'requestId',
  'id',
  'namedId',
  'messageId',
  ...contactTypes,
])

/**
 * Recognises what a text holds, and looks it up, kind by kind.
 *
 * @param after looks for a provider's message id alone, in sends before this one.
 */
export async function lookUp(db: Database, pasted: string, after?: ListCursor): Promise<LookedUp> {
  const recognised = recognise(pasted, isKnownCode)
  const codes = recognised.code.flatMap(meaningsOf)
  const found: LookedUp = {
    looked: [],
    codes,
    localNumbers: recognised.localNumber,
    only: undefined,
    further: undefined,
  }
  for (const group of groups) {
    const kinds = group.filter(
      (kind) => recognised[kind].length > 0 && isOfUse(kind, found, recognised, after),
    )
    for (const kind of kinds) {
      const { targets, further } = await find(db, kind, recognised[kind], after)
      found.looked.push({ kind, values: recognised[kind], targets })
      found.further ??= further
    }
    if (found.looked.some(({ targets }) => targets.length > 0)) break
  }
  return { ...found, only: onlyTarget(found.looked) }
}

const isMessageId = (kind: PastedKindName) => kind === 'messageId' || kind === 'possibleMessageId'

/** Uncertain kinds are searched last: a search by message id costs most. */
function isOfUse(
  kind: PastedKindName,
  { codes }: LookedUp,
  recognised: Recognised,
  after: ListCursor | undefined,
): boolean {
  if (after && !isMessageId(kind)) return false
  return kind !== 'possibleMessageId' || (codes.length === 0 && recognised.messageId.length === 0)
}

/** A single send is what was meant, whatever else was looked for. Another target is, if every surer kind had a match. */
function onlyTarget(looked: readonly LookedUpKind[]): Target | undefined {
  const hits = looked.filter(({ targets }) => targets.length > 0)
  const [only, ...others] = hits.flatMap(({ targets }) => targets)
  if (!only || others.length > 0 || hits[0]?.kind === 'possiblePhone') return undefined
  const group = groups.find((kinds) => kinds.some((kind) => kind === hits[0]?.kind)) ?? []
  const unmatched = looked.filter(({ kind }) => isSure.has(kind) && !group.includes(kind))
  return only.kind === 'send' || unmatched.length === 0 ? only : undefined
}

async function find(
  db: Database,
  kind: PastedKindName,
  values: readonly string[],
  after: ListCursor | undefined,
): Promise<Pick<LookedUp, 'further'> & Pick<LookedUpKind, 'targets'>> {
  const byIndex = async (targets: Promise<Target[]>) => ({ targets: await targets, further: undefined })
  if (isContactType(kind)) return await byIndex(targetsOfContacts(db, values))
  switch (kind) {
    case 'requestId':
    case 'id':
    case 'namedId':
      return await byIndex(targetsWithIds(db, values))
    case 'possiblePhone':
      return await byIndex(targetsOfContacts(db, values))
    case 'reference':
      return await byIndex(targetsWithReferences(db, values))
    case 'name':
      return await byIndex(targetsNamedIn(db, values[0] ?? ''))
    case 'messageId':
    case 'possibleMessageId':
      return await findMessageIds(db, values, after)
    case 'code':
    case 'localNumber':
      return { targets: [], further: undefined }
    default:
      return kind satisfies never
  }
}

async function findMessageIds(db: Database, ids: readonly string[], after: ListCursor | undefined) {
  const query = { limit: maxWithMessageId, after, providerMessageIds: [...ids] }
  const { sends, next, lookedBackTo } = await listSends(db, undefined, query, lookedAtForMessageId)
  const targets = await targetsWithIds(
    db,
    sends.map(({ requestId }) => requestId),
  )
  return { targets, further: next && lookedBackTo && { after: next, lookedBackTo } }
}
