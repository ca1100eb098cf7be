import type { UnknownId } from '../../core/request-id.ts'
import { Layout } from '../layout.tsx'
import { WithCommands } from '../words.tsx'
import { FindBox } from './find-box.tsx'

/** Where the first sentence ends. */
const sentenceEnd = /(?<=\.) /

/** An id that isn't a send: why that may be, and where to look next. */
export function UnknownIdPage({ pasted, unknown }: { pasted: string; unknown: UnknownId }) {
  const [first, ...rest] = unknown.why.split(sentenceEnd)
  return (
    <Layout title="Not a send" at="/support">
      <FindBox pasted={pasted} focused />
      <section class="verdict unsure">
        <h1>{first}</h1>
        {rest.length > 0 && <p>{rest.join(' ')}</p>}
        {unknown.requestId !== undefined && <p class="id">{unknown.requestId}</p>}
        {unknown.next.length > 0 && (
          <ul>
            {unknown.next.map((sentence) => (
              <li>
                <WithCommands text={sentence} />
              </li>
            ))}
          </ul>
        )}
      </section>
      <p>
        <a href="/support">Search by channel, contact or time</a>
      </p>
    </Layout>
  )
}
