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
    <details class="filter" open={isOpen}>
      <summary>Filter</summary>
      <form class="fields" method="get" action={action}>
        {children}
        <button type="submit">Show</button>
      </form>
    </details>
  )
}
