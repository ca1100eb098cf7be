import type { Count } from '../../../db/sends/list-count.ts'
import type { Suppression } from '../../../db/suppression/entries.ts'
import type { EntriesAsked } from '../../../db/suppression/shown-entries.ts'
import { wholeContact } from '../../core/contacts/contact.ts'
import { suppressionCauses } from '../../core/suppression/suppression.ts'
import { csvHeader } from '../../core/suppression/suppression-csv.ts'
import { totalOf } from '../numbers/spans.ts'
import { Choice, TextField } from '../page/fields.tsx'
import { ForRole } from '../page/for-role.tsx'
import { Layout } from '../page/layout.tsx'
import type { Contacts } from '../page/masking.ts'
import { PageHead } from '../page/page-head.tsx'
import { Entries } from './entries-table.tsx'

interface SuppressionsPageProps {
  account: { id: string; name: string; channels: readonly { id: string; name: string }[] }
  asked: Omit<EntriesAsked, 'limit'>
  page: { entries: readonly Suppression[]; next: string | undefined }
  total: Count
  contacts: Contacts
}

/** The suppressed contacts of an account. */
export function SuppressionsPage({ account, asked, page, total, contacts }: SuppressionsPageProps) {
  const { entries, next } = page
  const link = new URLSearchParams({ accountId: account.id })
  for (const [name, value] of Object.entries({ ...asked, before: next })) if (value) link.set(name, value)
  return (
    <Layout title="Suppressions" at="/suppressions">
      <PageHead
        title="Suppressions"
        about={`${totalOf(total, 'entry', 'entries')} of contacts of ${account.name} that get no messages; the newest first`}
      />
      <Filters account={account} asked={asked} />
      <section aria-label="Entries">
        {entries.length > 0 ? (
          <Entries
            entries={entries}
            names={new Map(account.channels.map(({ id, name }) => [id, name]))}
            contacts={contacts}
          />
        ) : (
          <p class="empty">
            {next === undefined
              ? 'No entry. Contacts that are not to get messages would be here: add one below, or import a file.'
              : 'No such entry among those that were looked at.'}
          </p>
        )}
        {next !== undefined && (
          <p>
            <a class="button" href={`/suppressions?${link}`}>
              Older
            </a>
          </p>
        )}
      </section>
      <section aria-labelledby="add">
        <h2 id="add">Add or remove one</h2>
        <form class="inline" method="post" action="/contact">
          <input type="hidden" name="accountId" value={account.id} />
          <TextField
            name="contact"
            label="Contact"
            hint={`${wholeContact}. Its page adds and removes its entries.`}
            required
          />
          <button type="submit">Show</button>
        </form>
      </section>
      <section aria-labelledby="move">
        <h2 id="move">Import and export</h2>
        <ForRole who="support">
          <form class="inline" method="post" action="/suppressions/import" enctype="multipart/form-data">
            <input type="hidden" name="accountId" value={account.id} />
            <p class="field">
              <label for="file">CSV file, at most 1 MiB</label>
              <input
                id="file"
                name="file"
                type="file"
                accept=".csv,text/csv"
                required
                aria-describedby="file-hint"
              />
              <small id="file-hint">
                Line 1 is <code>{csvHeader}</code>, then one line each. The next page shows what would be
                added.
              </small>
            </p>
            <button type="submit">Preview</button>
          </form>
        </ForRole>
        <p>
          <a class="button" href={`/suppressions.csv?accountId=${account.id}`}>
            Download as CSV
          </a>
        </p>
      </section>
    </Layout>
  )
}

function Filters({ account, asked }: Pick<SuppressionsPageProps, 'account' | 'asked'>) {
  return (
    <form method="get" action="/suppressions" class="fields">
      <input type="hidden" name="accountId" value={account.id} />
      <Choice name="cause" label="Cause" value={asked.cause} options={suppressionCauses} />
      <Choice
        name="channelId"
        label="Channel"
        value={asked.channelId}
        options={account.channels.map(({ id, name }) => [id, name] as const)}
      />
      <button type="submit">Show</button>
    </form>
  )
}

/** Asks for the account. */
export function AskPage() {
  return (
    <Layout title="Suppressions" at="/suppressions">
      <PageHead
        title="Suppressions"
        about="Contacts that get no messages. Each account has its own list: choose one."
      />
      <section aria-label="Account">
        <form class="inline" method="get" action="/suppressions">
          <TextField name="accountId" label="Account" hint="Its id, or a part of its name" required />
          <button type="submit" class="main">
            Show
          </button>
        </form>
      </section>
    </Layout>
  )
}
