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

interface FilterProps {
  name: string
  label: string
  value: string | undefined
  hint: string
  type?: 'text' | 'datetime-local'
}

export function Filter({ name, label, value = '', hint, type = 'text' }: FilterProps) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={type}
        value={value}
        autocomplete="off"
        aria-describedby={`${name}-hint`}
      />
      <small id={`${name}-hint`}>{hint}</small>
    </p>
  )
}

interface ChoiceProps {
  name: string
  label: string
  value: string | undefined
  options: readonly (readonly [value: string, words: string])[]
}

export function Choice({ name, label, value, options }: ChoiceProps) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <select id={name} name={name}>
        <option value="">any</option>
        {options.map(([option, words]) => (
          <option value={option} selected={option === value}>
            {words}
          </option>
        ))}
      </select>
    </p>
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
