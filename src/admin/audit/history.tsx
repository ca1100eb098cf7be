import type { RecordedChange } from '../../../db/audit/list.ts'
import { Changes } from './changes.tsx'

/** How many changes a page of what was changed shows. */
export const changesShown = 10

/** The audit's rows about the page's own thing, the newest first. */
export function History({ target, changes }: { target: string; changes: readonly RecordedChange[] }) {
  return (
    <section aria-labelledby="history">
      <h2 id="history">Who changed it</h2>
      {changes.length === 0 ? (
        <p class="muted">Nobody, in the time that the audit is kept.</p>
      ) : (
        <>
          <Changes changes={changes} isOfOne />
          <p>
            <a href={`/audit?${new URLSearchParams({ target })}`}>All of it in the audit</a>
          </p>
        </>
      )}
    </section>
  )
}
