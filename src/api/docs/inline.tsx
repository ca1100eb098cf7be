/** A description of the document: paragraphs, lists, and code between backticks. */
export function Prose({ text }: { text: string }) {
  return text.split('\n\n').map((part) =>
    part.startsWith('- ') ? (
      <ul>
        {part
          .slice(2)
          .split('\n- ')
          .map((item) => (
            <li>
              <Words text={item} />
            </li>
          ))}
      </ul>
    ) : (
      <p>
        <Words text={part} />
      </p>
    ),
  )
}

/** One line of a description. */
export function Words({ text }: { text: string }) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))
}
