import type { ListPage as Page } from '../../../db/sends/list.ts'
import type { Count } from '../../../db/sends/list-count.ts'
import { wholeContact } from '../../core/contacts/contact.ts'
import { deliveryStates } from '../../core/receipts/receipt.ts'
import { writeCursor } from '../../core/requests/list-query.ts'
import { priorities } from '../../core/sends/priority.ts'
import { faultOptions } from '../numbers/fault-words.ts'
import { totalOf } from '../numbers/spans.ts'
import { Choice, TextField } from '../page/fields.tsx'
import { ForRole } from '../page/for-role.tsx'
import { Moment, stateWords } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import type { Contacts } from '../page/masking.ts'
import { PageHead } from '../page/page-head.tsx'
import { canBeCanceled, canBeReplayed, replayNeeds } from './change-list.ts'
import { isPrivate, type ListField, type ListInput, listLink, listStates, momentOf } from './list-form.ts'
import { type Names, SendsTable } from './sends-table.tsx'

export interface ListPageProps {
  /** The filters. */
  input: ListInput
  /** The filters in a sentence. */
  sentence: string
  issues?: string[]
  list?: { page: Page; total: Count; names: Names; contacts: Contacts }
}

/** A list of sends, newest first. */
export function ListPage(props: ListPageProps) {
  const { input, issues = [], list } = props
  return (
    <Layout title="Sends" at="/sends">
      <PageHead
        title="Sends"
        about={list && `${totalOf(list.total, 'send')} ordered by acceptance time, newest first`}
      >
        {list && list.page.sends.length > 0 && <Actions input={input} />}
      </PageHead>
      <Filters {...props} isOpen={issues.length > 0} />
      {issues.map((issue) => (
        <p class="fault" role="alert">
          {issue}
        </p>
      ))}
      {list && (
        <section aria-label="Sends">
          {list.page.sends.length > 0 ? (
            <SendsTable sends={list.page.sends} {...list} />
          ) : (
            <p class="empty">
              No send found. Messages that clients post would be here, whatever became of them: change the
              filter to see others.
            </p>
          )}
          <NextPage {...props} page={list.page} />
        </section>
      )}
    </Layout>
  )
}

const optionWords: Record<(typeof listStates)[number], string> = {
  ...stateWords,
  scheduled: 'waiting for its time',
  waiting: 'scheduled, queued, or being sent',
  waiting_now: 'queued, or being sent',
}
const stateOptions = listStates.map(
  (state) => [state, `${state.replace('_', ' ')}: ${optionWords[state]}`] as const,
)

/** A sentence, which opens the form. */
function Filters({ input, sentence, isOpen }: ListPageProps & { isOpen: boolean }) {
  const of = (name: ListField) => ({ name, value: input[name] })
  const time = (name: ListField) => ({ name, value: localTime(input[name]) })
  return (
    <details class="filter" open={isOpen}>
      <summary>
        {sentence}. <b>Change</b>
      </summary>
      <form class="fields" method="post" action="/sends">
        <Hidden fields={{ accountId: input.accountId }} />
        <TextField {...of('channelId')} label="Channel" hint="Its id or its name" />
        <Choice {...of('status')} label="State" options={stateOptions} />
        <Choice {...of('fault')} label="Gone wrong" options={faultOptions} />
        <TextField {...of('reason')} label="Reason contains" hint="In either case" />
        <TextField
          {...of('providerCode')}
          label="Code"
          hint="Of the provider, such as 131047; its status where it gave none; “none” without both"
        />
        <TextField {...of('contact')} label="Contact" hint={wholeContact} />
        <TextField {...of('reference')} label="Reference" hint="The client's own id, as it was sent" />
        <TextField
          {...of('messageId')}
          label="Provider message id"
          hint="Whole id, as the provider returned it for the last attempt"
        />
        <TextField {...of('flowId')} label="Flow" hint="Its id or its name" />
        <Choice {...of('priority')} label="Priority" options={priorities} />
        <Choice {...of('delivery')} label="Delivery" options={deliveryStates} />
        <TextField {...time('acceptedFrom')} label="Accepted from" type="datetime-local" hint="UTC" />
        <TextField {...time('acceptedTo')} label="Accepted before" type="datetime-local" hint="UTC" />
        <TextField
          {...time('dueFrom')}
          label="Due from"
          type="datetime-local"
          hint="UTC; of scheduled sends their time, of queued ones that of the next attempt"
        />
        <TextField {...time('dueTo')} label="Due before" type="datetime-local" hint="UTC" />
        <button type="submit" class="main">
          Search
        </button>
      </form>
    </details>
  )
}

/** A field of this kind takes no offset: it is of UTC. */
function localTime(text = ''): string {
  const at = momentOf(text)
  return at ? at.toISOString().slice(0, at.getUTCSeconds() === 0 ? 16 : 19) : text
}

/** Leads to the next page. */
function NextPage({ input, page: { next, lookedBackTo } }: ListPageProps & { page: Page }) {
  if (!next) return null
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
  /** Changes what is listed, for good. */
  isDangerous?: boolean
}

/** Leads to a list: a link, or a form where the filters are private. */
export function ListButton({ input, words, path = '/sends', isPost, isDangerous }: ListButtonProps) {
  if (!isPost && !isPrivate(input))
    return (
      <a class="button" href={listLink(input, path)}>
        {words}
      </a>
    )
  return (
    <form method="post" action={path}>
      <Hidden fields={input} />
      <button type="submit" class={isDangerous ? 'danger' : undefined}>
        {words}
      </button>
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

/** The actions on all sends of the list, on all its pages: what applies to its state, or to those of its sends that have one. */
function Actions({ input: { after: _, ...input } }: { input: ListInput }) {
  const isFailure = input.status === 'failed' || input.status === 'uncertain'
  const isOfAny = input.status === undefined
  const waits = isOfAny || input.status === 'waiting' ? (['scheduled', 'queued'] as const) : []
  const failed = { ...input, status: 'failed' }
  const isByDue = input.dueFrom !== undefined || input.dueTo !== undefined
  return (
    <div class="row">
      <ListButton input={input} path="/sends.csv" words="Download as CSV" />
      <ForRole who="support">
        {canBeReplayed(input) && (
          <ListButton input={input} path="/sends/replay" words="Replay this list…" isPost />
        )}
        {isOfAny && !isByDue && canBeReplayed(failed) && (
          <ListButton input={failed} path="/sends/replay" words="Replay what failed…" isPost />
        )}
        {isFailure && !canBeReplayed(input) && <p class="muted">{replayNeeds}</p>}
        {canBeCanceled(input) && (
          <ListButton input={input} path="/sends/cancel" words="Cancel this list…" isPost isDangerous />
        )}
        {waits
          .map((status) => ({ ...input, status }))
          .filter(canBeCanceled)
          .map((list) => (
            <ListButton
              input={list}
              path="/sends/cancel"
              words={`Cancel what is ${list.status}…`}
              isPost
              isDangerous
            />
          ))}
      </ForRole>
    </div>
  )
}
