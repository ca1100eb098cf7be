import type { RecordedChange } from '../../../db/audit/list.ts'
import { type AuditDetail, type AuditTarget, auditActions } from '../../core/audit.ts'
import { Choice, TextField } from '../fields.tsx'
import { FilterForm, ScrollingTable } from '../filter-form.tsx'
import { Moment } from '../inline-elements.tsx'
import { Layout } from '../layout.tsx'
import { type AuditInput, actions } from './audit-form.ts'

interface AuditPageProps {
  input: AuditInput
  issues?: string[]
  changes?: readonly RecordedChange[]
  /** The place after which the next page begins. */
  next?: string | undefined
}

/** Who did what, when, from where, to what: the newest first. */
export function AuditPage({ input, issues = [], changes, next }: AuditPageProps) {
  const { after: _, ...filters } = input
  return (
    <Layout title="Audit" at="/audit">
      <h1>Who did what?</h1>
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
      {changes && (changes.length > 0 ? <Changes changes={changes} /> : <p>No change found.</p>)}
      {next !== undefined && (
        <p>
          <a class="button" href={`/audit?${new URLSearchParams({ ...filters, after: next })}`}>
            Older
          </a>
        </p>
      )}
    </Layout>
  )
}

function Changes({ changes }: { changes: readonly RecordedChange[] }) {
  return (
    <ScrollingTable label="Changes" columns={['When', 'Who', 'From where', 'What', 'Target', 'Details']}>
      {changes.map(({ at, by, via, address, action, target, details }) => (
        <tr>
          <td>
            <Moment at={at} />
          </td>
          <td>
            <a href={`/audit?${new URLSearchParams({ by })}`}>{by}</a>
          </td>
          <td>
            {wayWords[via]}
            {address !== null && ` at ${address}`}
          </td>
          <td>{auditActions[action]?.what ?? action}</td>
          <td class="id">
            {target !== null && <Target id={target} of={auditActions[action]?.target ?? null} />}
          </td>
          <td>
            {Object.entries(details)
              .map(([name, value]) => `${name}: ${shown(value)}`)
              .join('; ')}
          </td>
        </tr>
      ))}
    </ScrollingTable>
  )
}

const wayWords = { page: 'page', cli: 'command', route: 'API' }

/** The pages of what a target is, where there is one. */
const pages: Partial<Record<AuditTarget, string>> = {
  send: '/support',
  channel: '/channels',
  endpoint: '/endpoints',
}

function Target({ id, of }: { id: string; of: AuditTarget | null }) {
  const page = of === null ? undefined : pages[of]
  return page === undefined ? <span>{id}</span> : <a href={`${page}/${encodeURIComponent(id)}`}>{id}</a>
}

const shown = (value: AuditDetail) => (Array.isArray(value) ? value.join(', ') : String(value ?? 'all'))
