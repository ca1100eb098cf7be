interface FindBoxProps {
  pasted?: string
  /** Whether the box has the focus when the page opens. */
  focused?: boolean
}

/**
 * A search box for a requestId, alone or within a longer text, a contact, or a provider's message id. It is a POST form,
 * because the text may be private and must not get into a URL.
 */
export function FindBox({ pasted = '', focused = false }: FindBoxProps) {
  return (
    <form class="find" method="post" action="/support/find">
      <label for="requestId">requestId</label>
      <div class="row">
        <input
          id="requestId"
          name="requestId"
          type="search"
          value={pasted}
          placeholder="An id, a log line, a link, a phone number: paste what you have"
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
