import type { FoundSend, SearchPage as Page } from '../../../db/sends/search.ts'
import { Moment, State, stateWords } from '../inline-elements.tsx'
import { Layout } from '../layout.tsx'
import { type Contacts, showContact } from '../masking.ts'
import { FindBox } from './find-box.tsx'
import { ReplayList } from './replay-set-pages.tsx'
import { isPrivate, type SearchInput, searchLink, searchStates } from './search-form.ts'

interface SearchPageProps {
  input: SearchInput
  issues?: string[]
  found?: { page: Page; contacts: Contacts }
}

export function SearchPage({ input, issues = [], found }: SearchPageProps) {
  const isSearch = Object.values(input).some(Boolean)
  return (
    <Layout title={isSearch ? 'Search' : 'Support'} at="/support">
      <h1>Where is my message?</h1>
      <FindBox focused={!isSearch} />
      <SearchForm input={input} isOpen={isSearch} />
      {issues.map((issue) => (
        <p class="fault" role="alert">
          {issue}
        </p>
      ))}
      {found && (
        <Found input={input} title={isSearch ? 'Results, newest first' : 'Newest sends'} {...found} />
      )}
    </Layout>
  )
}

function Found({ input, title, page, contacts }: FoundProps) {
  const { sends } = page
  return (
    <section aria-labelledby="results">
      <h2 id="results">{title}</h2>
      {sends.length > 0 ? <Results sends={sends} contacts={contacts} /> : <p>No send found.</p>}
      <NextPage input={input} page={page} />
      {sends.length > 0 && <ReplayList input={input} />}
    </section>
  )
}

interface FoundProps {
  input: SearchInput
  title: string
  page: Page
  contacts: Contacts
}

function SearchForm({ input, isOpen }: { input: SearchInput; isOpen: boolean }) {
  return (
    <details class="search" open={isOpen}>
      <summary>
        No requestId? Search by contact, provider message id, reference, channel, state or time
      </summary>
      <form method="post" action="/support/search">
        <Field
          name="contact"
          label="Contact"
          value={input.contact}
          hint="Whole phone number or e-mail address"
        />
        <Field
          name="messageId"
          label="Provider message id"
          value={input.messageId}
          hint="Whole id, as the provider returned it for the last attempt"
        />
        <Field
          name="reference"
          label="Reference"
          value={input.reference}
          hint="The client's own id, as it was sent"
        />
        <Field name="channel" label="Channel" value={input.channel} hint="Its id or its name" />
        <p class="field">
          <label for="state">State</label>
          <select id="state" name="state">
            <option value="">any</option>
            {searchStates.map((state) => (
              <option value={state} selected={input.state === state}>
                {`${state}: ${state === 'scheduled' ? 'waiting for its time' : stateWords[state]}`}
              </option>
            ))}
          </select>
        </p>
        <Field name="from" label="Accepted from" value={input.from} type="datetime-local" hint="UTC" />
        <Field name="to" label="Accepted before" value={input.to} type="datetime-local" hint="UTC" />
        <button type="submit">Search</button>
      </form>
    </details>
  )
}

interface FieldProps {
  name: keyof SearchInput
  label: string
  value: string | undefined
  hint: string
  type?: 'text' | 'datetime-local'
}

function Field({ name, label, value = '', hint, type = 'text' }: FieldProps) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={type}
        value={value}
        autocomplete="off"
        aria-describedby={`${name}-hint`}
      />
      <small id={`${name}-hint`}>{hint}</small>
    </p>
  )
}

function Results({ sends, contacts }: { sends: FoundSend[]; contacts: Contacts }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Accepted</th>
            <th scope="col">State</th>
            <th scope="col">Contact</th>
            <th scope="col">Message</th>
            <th scope="col">Channel</th>
            <th scope="col">requestId</th>
          </tr>
        </thead>
        <tbody>
          {sends.map((send) => (
            <tr>
              <td>
                <Moment at={send.acceptedAt} />
              </td>
              <td>
                <State status={send.status} />
                {send.failure !== null && <small class="reason">{send.failure}</small>}
              </td>
              <td>{showContact(send, contacts)}</td>
              <td>{send.messageType}</td>
              <td>{send.channelName}</td>
              <td class="id">
                <a href={`/support/${send.requestId}`}>{send.requestId}</a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Leads to the next page of a search, with older sends. */
export function NextPage({ input, page }: { input: SearchInput; page: Page }) {
  const { olderThan, lookedBackTo } = page
  if (olderThan === undefined) return null
  const words = lookedBackTo ? 'Search further back' : 'Older'
  return (
    <>
      {lookedBackTo && (
        <p>
          Searched all sends back to <Moment at={lookedBackTo} />.
        </p>
      )}
      {isPrivate(input) ? (
        <form method="post" action="/support/search">
          {Object.entries({ ...input, before: olderThan }).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <button type="submit">{words}</button>
        </form>
      ) : (
        <p>
          <a class="button" href={searchLink(input, olderThan)}>
            {words}
          </a>
        </p>
      )}
    </>
  )
}
