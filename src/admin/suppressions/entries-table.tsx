import type { Suppression } from '../../../db/suppression/entries.ts'
import { erasedContactValue } from '../../core/contacts/contact.ts'
import { calledOf, isByContact } from '../../core/suppression/suppression.ts'
import type { ContactRef } from '../contact/find-contact.ts'
import { type Column, DataTable } from '../page/data-table.tsx'
import { ForRole } from '../page/for-role.tsx'
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
  const contact: Column<Suppression>[] =
    contacts === undefined
      ? []
      : [{ name: 'Contact', cell: (entry) => <ContactCell entry={entry} contacts={contacts} /> }]
  const change: Column<Suppression>[] =
    contactRef === undefined
      ? []
      : [{ name: 'Change', cell: (entry) => <Remove entry={entry} contactRef={contactRef} /> }]
  return (
    <DataTable
      label="Suppressions"
      rows={entries}
      idOf={({ suppressionId }) => suppressionId}
      columns={[
        ...contact,
        {
          name: 'On',
          cell: ({ channelId }) =>
            channelId === null ? (
              'all channels'
            ) : (
              <a href={`/channels/${channelId}`}>{names.get(channelId) ?? channelId}</a>
            ),
        },
        {
          name: 'Cause',
          cell: ({ cause, requestId }) => (
            <>
              {calledOf(cause)}
              {requestId !== null && (
                <small class="below">
                  by <a href={`/support/${requestId}`}>a send</a>
                </small>
              )}
            </>
          ),
        },
        { name: 'Reason', cell: ({ reason }) => reason },
        { name: 'Since', cell: ({ createdAt }) => <Moment at={createdAt} short /> },
        ...change,
      ]}
    />
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
    <ForRole who="support">
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
        <button type="submit" class="danger">
          Remove
        </button>
      </form>
    </ForRole>
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
