import type { Database } from '../../../db/client.ts'
import { type SearchPage, searchSends } from '../../../db/sends/search.ts'
import { readSearchForm, type SearchInput } from './search-form.ts'

export interface LookedUp {
  /** The search that the text was taken as. */
  input: SearchInput
  page: SearchPage
  /** Whether to show the search's page: it found sends, or the text was a contact, even one without sends. */
  isAnswer: boolean
  /** The requestId, if the text is the reference, or the provider's message id, of exactly one send. */
  only?: string
}

/**
 * Looks up a text without a requestId: as a contact, as a client's reference, then as a provider's message id. A number may be
 * any of them.
 *
 * @returns a function; its result is undefined if the text can be neither.
 */
export function textLookUp(db: Database) {
  const search = async (input: SearchInput) => {
    const read = readSearchForm(input)
    if ('issues' in read) return undefined
    const { contact: contactValue, messageId: providerMessageIds, reference } = read.form
    return { input, page: await searchSends(db, { contactValue, providerMessageIds, reference }) }
  }

  return async (words: string): Promise<LookedUp | undefined> => {
    const text = words.trim()
    if (text === '') return undefined
    const byContact = await search({ contact: text })
    if (byContact?.page.sends.length) return { ...byContact, isAnswer: true }
    const byReference = await search({ reference: text })
    if (byReference?.page.sends.length) return asAnswer(byReference)
    const byMessageId = await search({ messageId: text })
    if (byMessageId?.page.sends.length) return asAnswer(byMessageId)
    if (byContact) return { ...byContact, isAnswer: true }
    return byMessageId && { ...byMessageId, isAnswer: false }
  }
}

function asAnswer({ input, page }: Pick<LookedUp, 'input' | 'page'>): LookedUp {
  const [first, ...others] = page.sends
  return { input, page, isAnswer: true, ...(first && others.length === 0 && { only: first.requestId }) }
}
