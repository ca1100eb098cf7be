import { raw } from 'hono/html'
import { createContext, useContext } from 'hono/jsx'
import { escaped } from './escaped.ts'
import type { Highlight } from './highlight.ts'

/** The function that marks the words of a sample; without one they are plain. */
export const Highlighting = createContext<Highlight>((code) => escaped(code))

/** A sample. It can be scrolled by keyboard. */
export function Block({ text, language }: { text: string; language: string }) {
  const highlight = useContext(Highlighting)
  return (
    <pre tabindex={0}>
      <code>{raw(highlight(text, language))}</code>
    </pre>
  )
}

export const blockHtml = (text: string, language: string, highlight: Highlight) =>
  `<pre tabindex="0"><code>${highlight(text, language)}</code></pre>`
