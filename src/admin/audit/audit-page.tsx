import type { RecordedChange } from '../../../db/audit/list.ts'
import type { Count } from '../../../db/sends/list-count.ts'
import { auditActions } from '../../core/accounts/audit.ts'
import { totalOf } from '../numbers/spans.ts'
import { Choice, TextField } from '../page/fields.tsx'
import { FilterForm } from '../page/filter-form.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import { type AuditInput, actions } from './audit-form.ts'
import { Changes, type Names } from './changes.tsx'

interface AuditPageProps {
  input: AuditInput
  issues?: string[]
  changes?: readonly RecordedChange[]
  total?: Count
  names?: Names
  /** The place after which the next page begins. */
  next?: string | undefined
}

/** Who did what, when, from where, to what: the newest first. */
export function AuditPage({ input, issues = [], changes, total, names, next }: AuditPageProps) {
  const { after: _, ...filters } = input
  return (
    <Layout title="Audit" at="/audit">
      <PageHead
        title="Audit"
        about={`${total ? totalOf(total, 'row') : 'Rows'} of who did what, when and from where; the newest first`}
      />
      <FilterForm action="/audit" isOpen={Object.keys(filters).length > 0}>
        <TextField
          name="target"
          label="Target"
          value={input.target}
          hint="Id of a channel, an endpoint, a send…"
        />
        <TextField name="by" label="Who" value={input.by} hint="A person's whole name, or a key's prefix" />
        <Choice
          name="action"
          label="What"
          value={input.action}
          options={actions.map((action) => [action, auditActions[action].what])}
        />
        <TextField name="from" label="From" value={input.from} type="datetime-local" hint="UTC" />
        <TextField name="to" label="Before" value={input.to} type="datetime-local" hint="UTC" />
      </FilterForm>
      {issues.map((issue) => (
        <p class="fault" role="alert">
          {issue}
        </p>
      ))}
      {changes && (
        <section aria-label="Changes">
          {changes.length > 0 ? (
            <Changes changes={changes} names={names} />
          ) : (
            <p class="empty">No change found. What people, commands and the API change would be here.</p>
          )}
          {next !== undefined && (
            <p>
              <a class="button" href={`/audit?${new URLSearchParams({ ...filters, after: next })}`}>
                Older
              </a>
            </p>
          )}
        </section>
      )}
    </Layout>
  )
}
