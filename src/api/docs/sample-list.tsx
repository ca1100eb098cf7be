import { type SampleRequest, samplesOf } from './samples.ts'

/** Shows the first language, and opens the others. */
export function SampleList({ request }: { request: SampleRequest }) {
  return samplesOf(request).map(({ language, code }, index) => (
    <details class="sample" open={index === 0}>
      <summary>{language}</summary>
      <Block text={code} />
    </details>
  ))
}

/** It can be scrolled by keyboard. */
export function Block({ text }: { text: string }) {
  return (
    <pre tabindex={0}>
      <code>{text}</code>
    </pre>
  )
}
