interface FindBoxProps {
  pasted?: string
  /** Whether the box has the focus when the page opens. */
  focused?: boolean
}

/** One box for whatever people paste. It is a POST form, because the text may be private and must not get into a URL. */
export function FindBox({ pasted = '', focused = false }: FindBoxProps) {
  return (
    <form class="find" method="post" action="/support">
      <label for="q">Find</label>
      <div class="row">
        <input
          id="q"
          name="q"
          type="search"
          value={pasted}
          placeholder="An id, a log line, a phone number, a code: paste what you have"
          autocomplete="off"
          spellcheck={false}
          autofocus={focused}
          required
        />
        <button type="submit">Find</button>
      </div>
    </form>
  )
}
