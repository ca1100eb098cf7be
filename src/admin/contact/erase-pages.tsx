import { nothingThere, whatWasLeftOut } from '../../core/sends/left-out.ts'
import { formatCount } from '../numbers/spans.ts'
import { Layout } from '../page/layout.tsx'
import { type Contacts, showContact } from '../page/masking.ts'
import { Hidden } from '../sends/list-page.tsx'
import { contactLink, type FoundContact, isOpaque } from './find-contact.ts'

export function EraseQuestion({ found, contacts }: { found: FoundContact; contacts: Contacts }) {
  const { contact, ref } = found
  return (
    <Layout title="Erase a contact?" at="/contact">
      <section class="verdict bad">
        <h1>
          Erase {showContact({ contactType: contact.type, contactValue: contact.value }, contacts)} from this
          account?
        </h1>
        <p>
          Content and contact of its sends that have ended are removed, for good, and of its conversations.
          The timelines stay, without them. Its suppressions stay in force.
        </p>
        <p>Sends that have not ended stay unchanged: erase again when they have.</p>
        <form method="post" action="/contact/erase" class="row">
          <Hidden fields={{ ...ref, confirmed: 'yes' }} />
          <button type="submit" class="main danger">
            Erase
          </button>
          {isOpaque(ref) && (
            <a class="button" href={contactLink(ref)}>
              Leave it as it is
            </a>
          )}
        </form>
      </section>
    </Layout>
  )
}

export function ErasedPage({ erased, unfinished }: { erased: number; unfinished: number }) {
  const leftOut = whatWasLeftOut(erased, { unfinished }, nothingThere.erase)
  return (
    <Layout title="Erased" at="/contact">
      <section class="verdict over">
        <h1>Erased: {erased === 1 ? '1 send' : `${formatCount(erased)} sends`}</h1>
        {leftOut !== '' && <p>{leftOut}</p>}
        <p>
          <a href="/support">Find something else</a>
        </p>
      </section>
    </Layout>
  )
}
