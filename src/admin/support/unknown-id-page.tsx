import { maxLookedAt, type SearchPage as Page } from '../../../db/sends/search.ts'
import type { UnknownId } from '../../core/request-id.ts'
import { WithCommands } from '../inline-elements.tsx'
import { Layout } from '../layout.tsx'
import { FindBox } from './find-box.tsx'
import type { SearchInput } from './search-form.ts'
import { NextPage } from './search-page.tsx'

const sentenceEnd = /(?<=\.) /

interface UnknownIdPageProps {
  pasted: string
  unknown: UnknownId
  /** The search for the text as a provider's message id, which found nothing. */
  looked?: { input: SearchInput; page: Page } | undefined
}

/** The page for an id of no send: possible reasons, and where to look next. */
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
                ? `None of the newest ${maxLookedAt.toLocaleString('en')} sends has it as its provider message id.`
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
