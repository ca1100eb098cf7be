import type { Child } from 'hono/jsx'

/** The title of a page, which is its word in the menu, with what can be done with all of it at its side. */
export function PageHead({ title, about, children }: { title: string; about?: Child; children?: Child }) {
  return (
    <div class="head">
      <div>
        <h1>{title}</h1>
        {about !== undefined && <p class="muted">{about}</p>}
      </div>
      {children}
    </div>
  )
}
