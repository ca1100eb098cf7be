interface FindBoxProps {
  pasted?: string
  /** On the page that one opens to type in it. */
  focused?: boolean
}

/** One box that takes a requestId however it comes, a contact, or a provider's message id. What is pasted isn't put into an address: it may hold anything. */
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
