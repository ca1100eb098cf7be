import { mostLookedAt, type SearchPage as Page } from '../../../db/support/search.ts'
import type { UnknownId } from '../../core/request-id.ts'
import { Layout } from '../layout.tsx'
import { WithCommands } from '../words.tsx'
import { FindBox } from './find-box.tsx'
import type { Asked } from './search-form.ts'
import { NextPage } from './search-page.tsx'

/** Where the first sentence ends. */
const sentenceEnd = /(?<=\.) /

interface UnknownIdPageProps {
  pasted: string
  unknown: UnknownId
  /** Where it was looked for as a provider's message id, in vain. */
  looked?: { asked: Asked; page: Page } | undefined
}

/** An id that isn't a send: why that may be, and where to look next. */
export function UnknownIdPage({ pasted, unknown, looked }: UnknownIdPageProps) {
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
        {looked && (
          <>
            <p>
              {looked.page.lookedBackTo
                ? `None of the newest ${mostLookedAt.toLocaleString('en')} sends has it as its provider message id.`
                : 'No send has it as its provider message id.'}
            </p>
            <NextPage {...looked} />
          </>
        )}
      </section>
      <p>
        <a href="/support">Search by channel, contact or time</a>
      </p>
    </Layout>
  )
}
