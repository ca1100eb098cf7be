import type { Child } from 'hono/jsx'

/** The filters of a list, closed unless one is set. It is sent by GET: nothing personal may be among them. */
export function FilterForm({
  action,
  isOpen,
  children,
}: {
  action: string
  isOpen: boolean
  children: Child
}) {
  return (
    <details class="search" open={isOpen}>
      <summary>Filter</summary>
      <form method="get" action={action}>
        {children}
        <button type="submit">Show</button>
      </form>
    </details>
  )
}

/** A table that scrolls by keyboard too, if it is wider than the page. */
export function ScrollingTable({
  label,
  columns,
  children,
}: {
  label: string
  columns: string[]
  children: Child
}) {
  return (
    <section class="scroll" aria-label={label} tabindex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th scope="col">{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}
