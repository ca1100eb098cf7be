import { isPersonName, personNameWanted } from '../accounts/person.ts'
import { isLongerThan, isStorable } from '../requests/characters.ts'
import { operatorReason, operatorReasonForm } from '../sends/own-reasons.ts'
import { TypedFault } from './typed-fault.ts'

/** A template's name, within the limits of `template.name` in a send (docs/reference/api.md#body). */
export function templateName(text: string): string {
  if (text === '' || isLongerThan(text, 512) || /\p{Cc}/u.test(text) || !isStorable(text))
    throw new TypedFault('Use 1 to 512 characters on one line.')
  return text
}

export function personName(text: string): string {
  if (isPersonName(text)) return text
  throw new TypedFault(`Use ${personNameWanted}.`)
}

/** Why an operator holds a channel or suppresses a contact. */
export function operatorsWords(text: string): string {
  const { data } = operatorReason.safeParse(text.trim())
  if (data !== undefined) return data
  throw new TypedFault(`Use ${operatorReasonForm}.`)
}
