import type { ListPage as Page } from '../../../db/sends/list.ts'
import { writeCursor } from '../../core/list-query.ts'
import { deliveryStates } from '../../core/receipt.ts'
import { Moment, stateWords } from '../inline-elements.tsx'
import { Layout } from '../layout.tsx'
import type { Contacts } from '../masking.ts'
import { FindBox } from '../support/find-box.tsx'
import { canBeCanceled, canBeReplayed, replayNeeds } from './change-list.ts'
import {
  dayBefore,
  isPrivate,
  type ListField,
  type ListInput,
  listLink,
  listStates,
  momentOf,
} from './list-form.ts'
import { type Names, SendsTable } from './sends-table.tsx'

export interface ListPageProps {
  /** The filters, with a time that was added. */
  input: ListInput
  /** The filters in a sentence. */
  sentence: string
  /** The beginning of the last 24 hours, if the time was added. */
  from?: Date | undefined
  issues?: string[]
  list?: { page: Page; names: Names; contacts: Contacts }
}

/** A list of sends, newest first. */
export function ListPage(props: ListPageProps) {
  const { input, issues = [], list } = props
  return (
    <Layout title="Sends" at="/sends" isWide>
      <h1>Sends</h1>
      <FindBox />
      <Filters {...props} isOpen={issues.length > 0} />
      {issues.map((issue) => (
        <p class="fault" role="alert">
          {issue}
        </p>
      ))}
      {list && (
        <section aria-labelledby="results">
          <h2 id="results">Newest first</h2>
          {list.page.sends.length > 0 ? (
            <SendsTable sends={list.page.sends} {...list} />
          ) : (
            <p>No send found.</p>
          )}
          <NextPage {...props} page={list.page} />
          {list.page.sends.length > 0 && <Actions input={input} />}
        </section>
      )}
    </Layout>
  )
}

/** A sentence, which opens the form. */
function Filters({ input, sentence, from, isOpen }: ListPageProps & { isOpen: boolean }) {
  return (
    <details class="search" open={isOpen}>
      <summary>
        {sentence}
        {from !== undefined && ': the last 24 hours, as no time was asked for'}. <b>Change</b>
      </summary>
      <form method="post" action="/sends">
        <Field name="accountId" label="Account" input={input} hint="Its id or its name" />
        <Field name="channelId" label="Channel" input={input} hint="Its id or its name" />
        <Choice name="status" label="State" input={input}>
          {listStates.map((state) => ({
            value: state,
            words: `${state}: ${state === 'scheduled' ? 'waiting for its time' : stateWords[state]}`,
          }))}
        </Choice>
        <Field name="reason" label="Reason contains" input={input} hint="In either case" />
        <Field name="providerCode" label="Code" input={input} hint="Of the provider, such as 131047" />
        <Field name="contact" label="Contact" input={input} hint="Whole phone number or e-mail address" />
        <Field name="reference" label="Reference" input={input} hint="The client's own id, as it was sent" />
        <Field
          name="messageId"
          label="Provider message id"
          input={input}
          hint="Whole id, as the provider returned it for the last attempt"
        />
        <Field name="flowId" label="Flow" input={input} hint="Its id" />
        <Choice name="delivery" label="Delivery" input={input}>
          {deliveryStates.map((state) => ({ value: state, words: state }))}
        </Choice>
        <Field name="acceptedFrom" label="Accepted from" input={input} type="datetime-local" hint="UTC" />
        <Field name="acceptedTo" label="Accepted before" input={input} type="datetime-local" hint="UTC" />
        <button type="submit">Search</button>
      </form>
    </details>
  )
}

interface FieldProps {
  name: ListField
  label: string
  input: ListInput
  hint: string
  type?: 'text' | 'datetime-local'
}

function Field({ name, label, input, hint, type = 'text' }: FieldProps) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={type}
        value={type === 'text' ? (input[name] ?? '') : localTime(input[name])}
        autocomplete="off"
        aria-describedby={`${name}-hint`}
      />
      <small id={`${name}-hint`}>{hint}</small>
    </p>
  )
}

/** A field of this kind takes no offset: it is of UTC. */
function localTime(text = ''): string {
  const at = momentOf(text)
  return at ? at.toISOString().slice(0, at.getUTCSeconds() === 0 ? 16 : 19) : text
}

interface ChoiceProps {
  name: ListField
  label: string
  input: ListInput
  children: { value: string; words: string }[]
}

function Choice({ name, label, input, children }: ChoiceProps) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <select id={name} name={name}>
        <option value="">any</option>
        {children.map(({ value, words }) => (
          <option value={value} selected={input[name] === value}>
            {words}
          </option>
        ))}
      </select>
    </p>
  )
}

/** Leads to the next page, or to the day before. */
function NextPage({ input, from, page: { next, lookedBackTo } }: ListPageProps & { page: Page }) {
  if (!next)
    return from === undefined ? null : (
      <ListButton input={dayBefore(input, from)} words="The 24 hours before" />
    )
  return (
    <>
      {lookedBackTo && (
        <p>
          Searched all sends back to <Moment at={lookedBackTo} />.
        </p>
      )}
      <ListButton
        input={{ ...input, after: writeCursor(next) }}
        words={lookedBackTo ? 'Search further back' : 'Older'}
      />
    </>
  )
}

interface ListButtonProps {
  input: ListInput
  words: string
  path?: string
  /** Also a button where a link could be: it leads to a form. */
  isPost?: boolean
}

/** Leads to a list: a link, or a form where the filters are private. */
export function ListButton({ input, words, path = '/sends', isPost = false }: ListButtonProps) {
  if (!isPost && !isPrivate(input))
    return (
      <p>
        <a class="button quiet" href={listLink(input, path)}>
          {words}
        </a>
      </p>
    )
  return (
    <form method="post" action={path}>
      <Hidden fields={input} />
      <button type="submit">{words}</button>
    </form>
  )
}

export function Hidden({ fields }: { fields: Record<string, string | undefined> }) {
  return (
    <>
      {Object.entries(fields).map(
        ([name, value]) => value !== undefined && <input type="hidden" name={name} value={value} />,
      )}
    </>
  )
}

/** What can be done with all sends of the list, on all its pages. */
function Actions({ input: { after: _, ...input } }: { input: ListInput }) {
  const isFailure = input.status === 'failed' || input.status === 'uncertain'
  return (
    <div class="row">
      <ListButton input={input} path="/sends.csv" words="Download as CSV" />
      {canBeReplayed(input) && (
        <ListButton input={input} path="/sends/replay" words="Replay this list…" isPost />
      )}
      {isFailure && !canBeReplayed(input) && <p class="muted">{replayNeeds}</p>}
      {canBeCanceled(input) && (
        <ListButton input={input} path="/sends/cancel" words="Cancel this list…" isPost />
      )}
    </div>
  )
}
