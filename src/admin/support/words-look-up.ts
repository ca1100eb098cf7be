import type { Database } from '../../../db/client.ts'
import { type SearchPage, searchSends } from '../../../db/support/search.ts'
import { type Asked, readSearchForm } from './search-form.ts'

export interface LookedUp {
  /** The search that was made of it. */
  asked: Asked
  page: SearchPage
  /** Whether it answers what was asked: it found some, or was for a contact that has none. */
  isAnswer: boolean
  /** Of a message id that one send has. */
  only?: string
}

/**
 * Looks for the sends that are meant by words without a requestId: as a contact, then as the id that a provider gave the
 * message. Numbers may be either.
 *
 * @returns a finder; undefined where the words can be neither.
 */
export function wordsLookUp(db: Database) {
  const search = async (asked: Asked) => {
    const read = readSearchForm(asked)
    if ('faults' in read) return undefined
    const { contact: contactValue, messageId: providerMessageIds } = read.form
    return { asked, page: await searchSends(db, { contactValue, providerMessageIds }) }
  }

  return async (words: string): Promise<LookedUp | undefined> => {
    const text = words.trim()
    if (text === '') return undefined
    const byContact = await search({ contact: text })
    if (byContact?.page.sends.length) return { ...byContact, isAnswer: true }
    const byMessageId = await search({ messageId: text })
    const [first, ...others] = byMessageId?.page.sends ?? []
    if (byMessageId && first)
      return { ...byMessageId, isAnswer: true, ...(others.length === 0 && { only: first.requestId }) }
    if (byContact) return { ...byContact, isAnswer: true }
    return byMessageId && { ...byMessageId, isAnswer: false }
  }
}
