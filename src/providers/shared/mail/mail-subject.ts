import type { Delivery } from '../../delivery.ts'
import { defaultSubject, filledSubject } from './mail-fields.ts'

/** The subject of a mail that has none of its own: the channel's, with what the send has for it. */
export function subjectOf({
  contact,
  reference,
  config,
}: Pick<Delivery<{ subject: string }>, 'contact' | 'reference' | 'config'>): string {
  return filledSubject(config.subject, { contactName: contact.name, reference }) || defaultSubject
}
