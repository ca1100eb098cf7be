export interface FindBoxProps {
  pasted?: string
  /** Whether the box has the focus when the page opens. */
  focused?: boolean
}

/** One box for whatever people paste. It is a POST form, because the text may be private and must not get into a URL. */
export function FindBox({ pasted = '', focused = false }: FindBoxProps) {
  return (
    <form class="find" method="post" action="/support">
      <label class="unseen" for="q">
        Find
      </label>
      <input
        id="q"
        name="q"
        type="search"
        value={pasted}
        placeholder="Find an id, number or code"
        autocomplete="off"
        spellcheck={false}
        autofocus={focused}
        required
      />
      <button type="submit">Find</button>
    </form>
  )
}
