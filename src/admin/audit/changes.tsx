import type { RecordedChange } from '../../../db/audit/list.ts'
import { type AuditDetail, type AuditTarget, auditActions } from '../../core/accounts/audit.ts'
import { tableRows } from '../page/each-shown.tsx'
import { ScrollingTable } from '../page/filter-form.tsx'
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
  const columns = ['When', 'Who', 'From where', 'What', 'Target', 'Reason', 'Details']
  const shownColumns = columns.filter((name) => !isOfOne || name !== 'Target')
  return (
    <ScrollingTable label="Changes" columns={shownColumns}>
      {tableRows(shownColumns.length, {
        rows: changes,
        idOf: ({ id }) => id,
        render: ({ at, by, via, address, action, target, details: { reason, ...details } }) => (
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
            {!isOfOne && (
              <td class="id">
                {target !== null && (
                  <Target id={target} name={names?.get(target)} of={auditActions[action]?.target ?? null} />
                )}
              </td>
            )}
            <td>{reason !== undefined && shown(reason)}</td>
            <td>
              {Object.entries(details)
                .map(([name, value]) => `${name}: ${shown(value)}`)
                .join('; ')}
            </td>
          </tr>
        ),
      })}
    </ScrollingTable>
  )
}

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
      {name !== undefined && <div class="muted">{id}</div>}
    </>
  )
}

/** A newer release may have details of another shape. */
const shown = (value: AuditDetail) => {
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? 'all')
}
