import type { RecordedChange } from '../../../db/audit/list.ts'
import { type AuditDetail, type AuditTarget, auditActions } from '../../core/accounts/audit.ts'
import { type Column, DataTable } from '../page/data-table.tsx'
import { Moment } from '../page/inline-elements.tsx'

/** The names of targets by their ids. */
export type Names = ReadonlyMap<string, string>

interface ChangesProps {
  changes: readonly RecordedChange[]
  names?: Names | undefined
  /** All are of the target whose page it is. */
  isOfOne?: boolean
}

export function Changes({ changes, names, isOfOne = false }: ChangesProps) {
  const target: Column<RecordedChange> = {
    name: 'Target',
    cell: ({ action, target }) =>
      target !== null && (
        <Target id={target} name={names?.get(target)} of={auditActions[action]?.target ?? null} />
      ),
  }
  return (
    <DataTable
      label="Changes"
      rows={changes}
      idOf={({ id }) => id}
      columns={[
        { name: 'When', cell: ({ at }) => <Moment at={at} short /> },
        { name: 'Who', cell: (change) => <Who {...change} /> },
        { name: 'What', cell: ({ action }) => auditActions[action]?.what ?? action },
        ...(isOfOne ? [] : [target]),
        { name: 'Reason', cell: ({ details: { reason } }) => reason !== undefined && shown(reason) },
        {
          name: 'Details',
          cell: ({ details: { reason: _, ...details } }) =>
            Object.entries(details)
              .map(([name, value]) => `${name}: ${shown(value)}`)
              .join('; '),
        },
      ]}
    />
  )
}

const Who = ({ by, via, address }: RecordedChange) => (
  <>
    <a href={`/audit?${new URLSearchParams({ by })}`}>{by}</a>
    <small class="below">
      {wayWords[via]}
      {address !== null && ` at ${address}`}
    </small>
  </>
)

const wayWords = { page: 'page', cli: 'command', route: 'API' }

/** The pages of what a target is, where there is one. */
const pages: Partial<Record<AuditTarget, (id: string) => string>> = {
  account: (id) => `/?account=${id}`,
  channel: (id) => `/channels/${id}`,
  endpoint: (id) => `/endpoints/${id}`,
  send: (id) => `/support/${id}`,
  suppression: (id) => `/contact?suppressionId=${id}`,
}

function Target({ id, name, of }: { id: string; name: string | undefined; of: AuditTarget | null }) {
  const page = of === null ? undefined : pages[of]
  return (
    <>
      {page === undefined ? (
        <span>{name ?? id}</span>
      ) : (
        <a href={page(encodeURIComponent(id))}>{name ?? id}</a>
      )}
      {name !== undefined && <small class="below id">{id}</small>}
    </>
  )
}

/** A newer release may have details of another shape. */
const shown = (value: AuditDetail) => {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? 'all')
}
