import type { Database } from '../../../db/client.ts'
import { type SearchPage, searchSends } from '../../../db/support/search.ts'
import { readSearchForm, type SearchInput } from './search-form.ts'

export interface LookedUp {
  /** The search that the text was taken as. */
  input: SearchInput
  page: SearchPage
  /** Whether to show the search's page: it found sends, or the text was a contact, even one without sends. */
  isAnswer: boolean
  /** The requestId, if the text is the provider's message id of exactly one send. */
  only?: string
}

/**
 * Looks up a text without a requestId: as a contact, then as a provider's message id. A number may be either.
 *
 * @returns a function; its result is undefined if the text can be neither.
 */
export function textLookUp(db: Database) {
  const search = async (input: SearchInput) => {
    const read = readSearchForm(input)
    if ('issues' in read) return undefined
    const { contact: contactValue, messageId: providerMessageIds } = read.form
    return { input, page: await searchSends(db, { contactValue, providerMessageIds }) }
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
