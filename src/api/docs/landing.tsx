import { raw } from 'hono/html'
import { useContext } from 'hono/jsx'
import type { OpenApiDocument } from '../openapi/document.ts'
import { basePlaceholder } from './base-url.ts'
import { blockHtml, Highlighting } from './code-block.tsx'
import { Prose } from './inline.tsx'
import { addresses, type Contents, Method, type Place } from './layout.tsx'
import { sampleTabs } from './sample-tabs.ts'
import { samplesOf } from './samples.ts'

/** What clients want, and the pages that say how. */
const wishes = [
  ['Try it without a provider', 'try-it', 'numbers and addresses with a result that you choose'],
  ['Send a template or a file', 'templates', 'variables, pictures, documents'],
  ['Send mail', 'mail', 'subject, HTML, an address for answers'],
  ['Send later, or take it back', 'later-and-cancel', 'schedule, move, cancel'],
  ['Know what happened', 'callbacks', 'the service calls you about each change'],
  ['Never send twice', 'idempotent-retry', 'repeat a request after any failure'],
  ['Handle errors', 'errors', 'each code, why it comes, and what to do'],
  ['Stop sending to a contact', 'suppressions', 'unsubscribed, bounced, complained'],
  ['Read all sends', 'pagination', 'lists, page by page'],
] as const

const firstSend = {
  method: 'POST',
  url: `${basePlaceholder}/v1/messages`,
  hasKey: true,
  headers: {},
  body: {
    channelId: 'YOUR_CHANNEL_ID',
    contact: { value: '+15550100199' },
    message: { type: 'text', text: { value: 'Hello' } },
  },
}

interface LandingProps extends Contents {
  place: Place
  document: OpenApiDocument
}

/** The first page: a send in a minute, what to do next, and all routes. */
export function Landing({ place, document, tags }: LandingProps) {
  const { below } = addresses(place)
  const highlight = useContext(Highlighting)
  const tabs = samplesOf(firstSend).map(({ language, code, name }) => ({
    language,
    html: blockHtml(code, name, highlight),
  }))
  return (
    <>
      <h1>{document.info.title}</h1>
      <p class="lead">
        Send one message to one contact, by SMS, chat or e-mail, and know what happened to it.
      </p>
      <section id="start">
        <h2>Send your first message in a minute</h2>
        <ol>
          <li>
            {'Ask the operator for an API key, and set '}
            <code>API_KEY</code>
            {'. '}
            <a href={below('get-key')}>GET /v1/key</a>
            {' says what it may do.'}
          </li>
          <li>
            {'Choose a channel: '}
            <a href={below('list-channels')}>GET /v1/channels</a>
            {' lists yours.'}
          </li>
          <li>{'Send:'}</li>
        </ol>
        {raw(sampleTabs('samples-first', tabs))}
        <p>
          {'The 202 has the '}
          <code>requestId</code>
          {' of the send. '}
          <a href={below('first-send')}>First send</a>
          {' shows how to follow it.'}
        </p>
      </section>
      <h2 id="wishes">What do you want to do?</h2>
      <ul class="wishes">
        {wishes.map(([wish, name, how]) => (
          <li>
            <a href={below(name)}>{wish}</a>
            <span>{how}</span>
          </li>
        ))}
      </ul>
      <h2 id="rules">Rules of every route</h2>
      <Prose text={document.info.description.replace(/^.*?\n\n/s, '')} />
      <h2 id="routes">All routes</h2>
      {tags.map(({ tag, operations }) => (
        <section>
          <h3>{tag.name}</h3>
          <p>{tag.description}</p>
          <ul class="routes">
            {operations.map(({ id, slug, method, path, operation }) => (
              <li id={id}>
                <Method name={method} />
                <a href={below(slug)}>{operation.summary}</a>
                <code>{path ?? 'your URL'}</code>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}
