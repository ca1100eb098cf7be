import type { Child } from 'hono/jsx'
import { tableRows } from './each-shown.tsx'

export interface Column<Row> {
  name: string
  /** The meaning of the name, for readers who don't know the service. */
  title?: string
  /** Numbers are aligned at the right, digit below digit. */
  isNumber?: boolean
  classOf?: (row: Row) => string | undefined
  cell: (row: Row) => Child
}

interface DataTableProps<Row> {
  /** Names the table for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** Says which row it is, in place of one that can't be shown. */
  idOf: (row: Row) => string
}

/** A table that fits the page: what is secondary stands below what is primary. In a narrow window each value has its label. */
export function DataTable<Row>({ label, columns, rows, idOf }: DataTableProps<Row>) {
  return (
    <table class="data" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ name, title, isNumber }) => (
            <th scope="col" title={title} class={isNumber ? 'number' : undefined}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {tableRows(columns.length, {
          rows,
          idOf,
          render: (row) => (
            <tr>
              {columns.map(({ name, isNumber, classOf, cell }) => {
                const classes = [isNumber && 'number', classOf?.(row)].filter(Boolean).join(' ')
                return (
                  <td data-label={name} class={classes || undefined}>
                    {cell(row)}
                  </td>
                )
              })}
            </tr>
          ),
        })}
      </tbody>
    </table>
  )
}
