import type { Suppression } from '../../../db/suppression/entries.ts'
import { erasedContactValue } from '../../core/contacts/contact.ts'
import { calledOf, isByContact } from '../../core/suppression/suppression.ts'
import type { ContactRef } from '../contact/find-contact.ts'
import { tableRows } from '../page/each-shown.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { type Contacts, showContact } from '../page/masking.ts'
import { Hidden } from '../sends/list-page.tsx'

interface EntriesProps {
  entries: readonly Suppression[]
  /** Names of the channels. */
  names: ReadonlyMap<string, string>
  /** How contacts are shown; without it, all are of the contact of the page. */
  contacts?: Contacts
  /** The contact of the page; then each entry has a button that removes it. */
  contactRef?: ContactRef
}

/** Entries of a suppression list. */
export function Entries({ entries, names, contacts, contactRef }: EntriesProps) {
  return (
    <div class="scroll">
      <table class="dense">
        <thead>
          <tr>
            {contacts !== undefined && <th scope="col">Contact</th>}
            <th scope="col">For</th>
            <th scope="col">Cause</th>
            <th scope="col">Reason</th>
            <th scope="col">Since</th>
            <th scope="col">By send</th>
            {contactRef !== undefined && <th scope="col">Change</th>}
          </tr>
        </thead>
        <tbody>
          {tableRows(7, {
            rows: entries,
            idOf: ({ suppressionId }) => suppressionId,
            render: (entry) => (
              <tr>
                {contacts !== undefined && (
                  <td>
                    <ContactCell entry={entry} contacts={contacts} />
                  </td>
                )}
                <td>
                  {entry.channelId === null
                    ? 'all channels'
                    : (names.get(entry.channelId) ?? entry.channelId)}
                </td>
                <td>{calledOf(entry.cause)}</td>
                <td class="cut" title={entry.reason ?? undefined}>
                  {entry.reason}
                </td>
                <td>
                  <Moment at={entry.createdAt} />
                </td>
                <td class="id">
                  {entry.requestId !== null && <a href={`/support/${entry.requestId}`}>{entry.requestId}</a>}
                </td>
                {contactRef !== undefined && (
                  <td>
                    <Remove entry={entry} contactRef={contactRef} />
                  </td>
                )}
              </tr>
            ),
          })}
        </tbody>
      </table>
    </div>
  )
}

/** An entry that the contact itself caused is removed with a reason alone (`removalFault`). */
function Remove({
  entry: { suppressionId, cause },
  contactRef,
}: {
  entry: Suppression
  contactRef: ContactRef
}) {
  return (
    <form method="post" action="/contact/unsuppress" class="row">
      <Hidden fields={{ ...contactRef, entry: suppressionId }} />
      {isByContact(cause) && (
        <input
          name="reason"
          type="text"
          aria-label="Reason for removing it"
          aria-describedby="removal-hint"
          placeholder="Reason"
          maxlength={500}
          required
          autocomplete="off"
        />
      )}
      <button type="submit">Remove</button>
    </form>
  )
}

function ContactCell({ entry, contacts }: { entry: Suppression; contacts: Contacts }) {
  const { contactType, contactValue, suppressionId } = entry
  if (contactValue === null) return <>{erasedContactValue}</>
  return (
    <a href={`/contact?suppressionId=${suppressionId}`}>
      {showContact({ contactType, contactValue }, contacts)}
    </a>
  )
}
