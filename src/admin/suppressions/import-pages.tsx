import { nothingThere, whatWasLeftOut } from '../../core/sends/left-out.ts'
import { formatCount } from '../numbers/spans.ts'
import { Layout } from '../page/layout.tsx'

interface OfAccount {
  account: { id: string; name: string }
}

type PreviewProps = OfAccount & { text: string } & (
    | { entries: number; added: number }
    | { faults: string[]; more: number }
  )

const entriesWords = (number: number) => (number === 1 ? '1 entry' : `${formatCount(number)} entries`)

/** The effect that an import of a file would have, or why it can't be imported. Nothing has been imported yet. */
export function PreviewPage(props: PreviewProps) {
  const { account, text } = props
  return (
    <Layout title="Import?" at="/suppressions">
      <section class="verdict unsure">
        {'faults' in props ? (
          <>
            <h1>Nothing was imported. Fix these lines of the file</h1>
            <ul>
              {props.faults.map((fault) => (
                <li>{fault}</li>
              ))}
            </ul>
            {props.more > 0 && <p>And {formatCount(props.more)} more lines.</p>}
          </>
        ) : (
          <>
            <h1>
              Add {entriesWords(props.added)} to the list of {account.name}?
            </h1>
            <NotAdded {...props} />
            <p>They are suppressed from now on, and their waiting sends fail.</p>
            {props.added > 0 && (
              <form method="post" action="/suppressions/import" enctype="multipart/form-data">
                <input type="hidden" name="accountId" value={account.id} />
                <input type="hidden" name="confirmed" value="yes" />
                <input type="hidden" name="csv" value={text} />
                <button type="submit">Add {formatCount(props.added)}</button>
              </form>
            )}
          </>
        )}
        <BackToList account={account} />
      </section>
    </Layout>
  )
}

export function ImportedPage({ account, entries, added }: OfAccount & { entries: number; added: number }) {
  return (
    <Layout title="Imported" at="/suppressions">
      <section class="verdict good">
        <h1>
          Added {entriesWords(added)} to the list of {account.name}
        </h1>
        <NotAdded entries={entries} added={added} />
        <BackToList account={account} />
      </section>
    </Layout>
  )
}

function NotAdded({ entries, added }: { entries: number; added: number }) {
  const leftOut = whatWasLeftOut(added, { listed: entries - added }, nothingThere.import)
  return leftOut === '' ? null : <p>{leftOut}</p>
}

const BackToList = ({ account }: OfAccount) => (
  <p>
    <a class="button" href={`/suppressions?accountId=${account.id}`}>
      Back to the list
    </a>
  </p>
)
