import type { RecordedChange } from '../../../db/audit/list.ts'
import type { listConversations } from '../../../db/delivery/conversations.ts'
import type { ListPage } from '../../../db/sends/list.ts'
import type { Suppression } from '../../../db/suppression/entries.ts'
import { wholeContact } from '../../core/contacts/contact.ts'
import { capitalised } from '../../core/explanation/phrases.ts'
import { writeCursor } from '../../core/requests/list-query.ts'
import { anyEventByContact, isByContact } from '../../core/suppression/suppression.ts'
import { Changes } from '../audit/changes.tsx'
import { eachShown } from '../page/each-shown.tsx'
import { TextField } from '../page/fields.tsx'
import { ForRole } from '../page/for-role.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { type Contacts, showContact } from '../page/masking.ts'
import { PageHead } from '../page/page-head.tsx'
import { Hidden } from '../sends/list-page.tsx'
import { type Names, SendsTable } from '../sends/sends-table.tsx'
import { Entries } from '../suppressions/entries-table.tsx'
import { type ContactRef, contactLink, type FoundContact, isOpaque } from './find-contact.ts'

type Conversation = Awaited<ReturnType<typeof listConversations>>[number]

interface ContactPageProps {
  found: FoundContact
  page: ListPage
  conversations: readonly Conversation[]
  entries: readonly Suppression[]
  channels: readonly { id: string; name: string }[]
  names: Names
  contacts: Contacts
  changes: readonly RecordedChange[]
  isOperator: boolean
}

/** All of a contact in its account. */
export function ContactPage(props: ContactPageProps) {
  const { found, page, conversations, entries, names, contacts, changes, isOperator } = props
  const { accountId, contact } = found
  const ref = opaqueRef(props)
  const shown = showContact({ contactType: contact.type, contactValue: contact.value }, contacts)
  return (
    <Layout title="Contact" at="/contact">
      <section class={`verdict ${entries.length > 0 ? 'bad' : 'good'}`}>
        <p class="kicker">
          Contact of <a href={`/?account=${accountId}`}>{names.get(accountId) ?? accountId}</a>
        </p>
        <h1>{shown}</h1>
        <p>{suppressionWords(entries)}</p>
        {isOperator && <Erase found={{ ...found, ref }} />}
      </section>
      <section aria-labelledby="sends">
        <h2 id="sends">Sends, newest first</h2>
        {page.sends.length > 0 ? (
          <SendsTable sends={page.sends} names={names} contacts={contacts} />
        ) : (
          <p class="empty">No send found. Messages to this contact would be here.</p>
        )}
        {page.next && <Older contactRef={ref} after={writeCursor(page.next)} />}
      </section>
      <Suppressions {...props} contactRef={ref} />
      <section aria-labelledby="conversations">
        <h2 id="conversations">Conversations, newest first</h2>
        <Conversations conversations={conversations.toReversed()} />
      </section>
      <section aria-labelledby="history">
        <h2 id="history">Who saw or changed it</h2>
        {changes.length > 0 ? (
          <Changes changes={changes} />
        ) : (
          <p class="muted">Nobody, in the time that the audit is kept.</p>
        )}
        <p class="muted">
          By its conversations, its suppressions, and the sends shown here. Whoever sees contacts masked is
          not in it.
        </p>
      </section>
    </Layout>
  )
}

/** By an id, if there is one: what a page links to gets into histories and logs. */
function opaqueRef({ found, page, conversations }: ContactPageProps): ContactRef {
  const [send] = page.sends
  const conversation = conversations.at(-1)
  if (found.ref.requestId !== undefined) return found.ref
  if (send) return { requestId: send.requestId }
  return conversation ? { conversationId: conversation.conversationId } : found.ref
}

function suppressionWords(entries: readonly Suppression[]): string {
  if (entries.length === 0) return 'Messages go to it.'
  return entries.some(({ channelId }) => channelId === null)
    ? 'It is suppressed for this account.'
    : 'It is suppressed for some channels of this account.'
}

function Older({ contactRef, after }: { contactRef: ContactRef; after: string }) {
  if (isOpaque(contactRef))
    return (
      <p>
        <a class="button" href={contactLink({ ...contactRef, after })}>
          Older
        </a>
      </p>
    )
  return (
    <form method="post" action="/contact">
      <Hidden fields={{ ...contactRef, after }} />
      <button type="submit">Older</button>
    </form>
  )
}

function Erase({ found: { ref } }: { found: FoundContact }) {
  return (
    <form method="post" action="/contact/erase">
      <Hidden fields={ref} />
      <button type="submit" class="danger">
        Erase…
      </button>
    </form>
  )
}

function Suppressions({
  entries,
  channels,
  contactRef,
  names,
}: ContactPageProps & { contactRef: ContactRef }) {
  return (
    <section aria-labelledby="suppressions">
      <h2 id="suppressions">Suppressions</h2>
      {entries.length > 0 && (
        <Entries
          entries={entries}
          names={new Map([...names, ...channels.map(({ id, name }) => [id, name] as const)])}
          contactRef={contactRef}
        />
      )}
      {entries.some(({ cause }) => isByContact(cause)) && (
        <p class="muted" id="removal-hint">
          {capitalised(anyEventByContact)} is the contact's own wish. It is removed only with a reason, which
          the audit keeps. Leave the contact itself out of it.
        </p>
      )}
      <ForRole who="support">
        <form class="inline" method="post" action="/contact/suppress">
          <Hidden fields={contactRef} />
          <p class="field">
            <label for="channelId">Send nothing by</label>
            <select id="channelId" name="channelId">
              <option value="">all channels of the account</option>
              {channels.map(({ id, name }) => (
                <option value={id}>{name}</option>
              ))}
            </select>
          </p>
          <p class="field">
            <label for="reason">Reason</label>
            <input
              id="reason"
              name="reason"
              type="text"
              maxlength={500}
              autocomplete="off"
              aria-describedby="reason-hint"
            />
            <small id="reason-hint">For those who read the list. Its waiting sends fail, too.</small>
          </p>
          <button type="submit" class="danger">
            Suppress
          </button>
        </form>
      </ForRole>
    </section>
  )
}

export const shownConversations = 50

function Conversations({ conversations }: { conversations: readonly Conversation[] }) {
  if (conversations.length === 0) return <p class="muted">None yet.</p>
  return (
    <>
      <ul>
        {eachShown(
          {
            rows: conversations.slice(0, shownConversations),
            idOf: ({ conversationId }) => conversationId,
            render: ({ conversationId, openedAt, closedAt, closedBy }) => (
              <li>
                <span class="id">{conversationId}</span> opened <Moment at={openedAt} />
                {closedAt ? (
                  <>
                    , closed <Moment at={closedAt} />
                  </>
                ) : (
                  ', open'
                )}
                {closedBy !== null && (
                  <>
                    {' '}
                    by <a href={`/support/${closedBy}`}>a send</a>
                  </>
                )}
              </li>
            ),
          },
          (words) => (
            <li>{words}</li>
          ),
        )}
      </ul>
      {conversations.length > shownConversations && (
        <p class="muted">And {conversations.length - shownConversations} earlier ones.</p>
      )}
    </>
  )
}

/** Asks for a contact. A form, since an address would hold it. */
export function AskPage({ accountName }: { accountName: string | undefined }) {
  return (
    <Layout title="Contacts" at="/contact">
      <PageHead
        title="Contacts"
        about="What one contact of an account got, who suppressed it, and who saw it"
      />
      <section aria-label="Contact">
        <form class="inline" method="post" action="/contact">
          <TextField
            name="accountId"
            label="Account"
            value={accountName}
            hint="Its id or its name"
            required
          />
          <TextField name="contact" label="Contact" hint={wholeContact} required />
          <button type="submit" class="main">
            Show
          </button>
        </form>
      </section>
      <p>The box on top of each page finds a contact in all accounts.</p>
    </Layout>
  )
}
