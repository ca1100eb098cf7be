import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'

interface RowsProps<Row> {
  rows: readonly Row[]
  /** Says which row it is, in place of one that can't be shown. */
  idOf: (row: Row) => string
  render: (row: Row) => Child
}

/** Renders each row by itself: one that can't be rendered says so in its place, and the others are shown. */
export function eachShown<Row>({ rows, idOf, render }: RowsProps<Row>, instead = wrapInNothing): Child[] {
  return rows.map((row) => {
    try {
      return raw(String(render(row)))
    } catch {
      return instead(<NotShown what="row" id={idOf(row)} />)
    }
  })
}

/** The rows of a table. */
export const tableRows = <Row,>(columns: number, shown: RowsProps<Row>): Child[] =>
  eachShown(shown, (words) => (
    <tr>
      <td colspan={columns}>{words}</td>
    </tr>
  ))

const wrapInNothing = (words: Child): Child => words

/** The stored value has a form that this release doesn't store. */
export const NotShown = ({ what, id }: { what: 'row' | 'content'; id?: string }) => (
  <span class="muted">
    This {what} can't be shown: it is damaged, or a newer release wrote it.
    {id !== undefined && (
      <>
        {' '}
        To look it up in PostgreSQL: <span class="id">{id}</span>
      </>
    )}
  </span>
)
