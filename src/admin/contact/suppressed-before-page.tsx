import { Layout } from '../page/layout.tsx'
import { Entry, type ShownEntry } from '../support/suppressed.tsx'

/** Nothing was added, since the contact has the entry: who added it, why, and since when. */
export function SuppressedBeforePage({ shown, back }: { shown: ShownEntry; back: string }) {
  return (
    <Layout title="Suppressed before" at="/contact">
      <section class="verdict unsure">
        <h1>Nothing was added: the contact is suppressed already</h1>
        <ul>
          <Entry {...shown} />
        </ul>
        <p>That entry stays as it is, with its reason.</p>
        <p>
          <a class="button" href={back}>
            Back to the contact
          </a>
        </p>
      </section>
    </Layout>
  )
}
