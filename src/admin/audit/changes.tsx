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
        {
          name: 'Reason',
          cell: ({ details: { reason } }) => reason !== undefined && shown('reason', reason),
        },
        {
          name: 'Details',
          cell: ({ details: { reason: _, ...details } }) => detailWords(details, names),
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
  flow: (id) => `/sends?flowId=${id}`,
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

type Details = RecordedChange['details']

/** What was changed, of a former value to which; ids by the names of what has them. */
function detailWords(details: Details, names?: Names): string {
  const before = (name: string) => `${name}Before`
  return Object.entries(details)
    .filter(([name]) => !name.endsWith('Before') || !(name.slice(0, -'Before'.length) in details))
    .map(([name, value]) => {
      const former = before(name) in details ? `${shown(name, details[before(name)], names)} → ` : ''
      return `${name}: ${former}${shown(name, value, names)}`
    })
    .join('; ')
}

/** Fields whose null means that nothing is left out. */
const ofAll = ['autoSuppress', 'channelId', 'countries', 'events', 'fallbackOn']

/** A newer release may have details of another shape. */
function shown(name: string, value: AuditDetail | undefined, names?: Names): string {
  if (Array.isArray(value)) return value.join(', ') || 'none'
  if (value === null || value === undefined) return ofAll.includes(name) ? 'all' : 'none'
  return typeof value === 'object' ? JSON.stringify(value) : (names?.get(String(value)) ?? String(value))
}
