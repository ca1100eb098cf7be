import { anyContact } from '../../core/contacts/contact.ts'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'

/** The box alone, and what it takes. */
export function SupportPage() {
  return (
    <Layout title="Find" at="/support" find={{ focused: true }}>
      <PageHead
        title="Find"
        about="Paste what the customer quotes into the box on top: it finds the message, and says where it is"
      />
      <section aria-labelledby="takes">
        <h2 id="takes">What you can paste</h2>
        <ul>
          <li>
            an id: of a send, a channel, an endpoint, a conversation, a flow, an account, or a suppression
          </li>
          <li>{anyContact}, also in a sentence</li>
          <li>a log line of a client, with a provider's message id such as SM… or wamid.…</li>
          <li>the client's own reference, or the name of a channel or an account</li>
          <li>a provider's code, such as 131047, 21610 or 5.1.1</li>
        </ul>
        <p>
          <a href="/sends">All sends, by account, channel, state or time</a>
        </p>
      </section>
    </Layout>
  )
}
