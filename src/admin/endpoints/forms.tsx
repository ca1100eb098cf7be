import type { Child } from 'hono/jsx'
import { eventTypes } from '../../core/callbacks/callback.ts'
import { Checks, TextField } from '../page/fields.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import type { FieldIssues, Typed } from '../page/typed-form.ts'
import { hostOf } from './callback-table.tsx'

interface EndpointFormProps {
  title: string
  action: string
  back: string
  about: string
  verb: string
  /** The host that an empty field keeps; undefined for a new endpoint. */
  presentUrl?: string | undefined
  typed: Typed
  issues?: FieldIssues
}

/** Asks for an endpoint, as `outbound endpoint create` and `update` do. */
export function EndpointFormPage({
  title,
  action,
  back,
  about,
  verb,
  presentUrl,
  typed,
  issues = {},
}: EndpointFormProps) {
  return (
    <Layout title={title} at="/endpoints">
      <PageHead title={title} about={about} />
      <section aria-label={title}>
        <form method="post" action={action} class="fields one" autocomplete="off">
          <TextField
            name="url"
            label="URL"
            value={typed.url}
            hint={
              presentUrl === undefined
                ? 'https, to a public address. Callbacks are posted to it'
                : `Empty: the one at ${hostOf(presentUrl)} stays`
            }
            issue={issues.url}
            required={presentUrl === undefined}
          />
          <Checks
            name="events"
            label="Changes"
            value={typed.events}
            hint="None ticked: all that begin with message, also those of later releases"
            issue={issues.events}
            options={eventTypes.map((type) => [type, type])}
          />
          <p class="row">
            <button type="submit" class="main">
              {verb}
            </button>
            <a class="button" href={back}>
              Leave it
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}

interface SecretShownProps {
  endpointId: string
  url: string
  secret: string
  /** Until when the former secret signs, too. */
  bothSignUntil?: Date
}

/** Shows the secret of an endpoint, once. */
export function SecretShownPage({ endpointId, url, secret, bothSignUntil }: SecretShownProps) {
  return (
    <Layout title="Secret of the endpoint" at="/endpoints">
      <section class="verdict good">
        <h1>The secret of {hostOf(url)}</h1>
        <p>
          Give it to the client now: it is not shown again. Each callback is signed with it (Standard
          Webhooks).
        </p>
        <p class="copy">
          <code>{secret}</code>
        </p>
        {bothSignUntil && (
          <p>
            Until <Moment at={bothSignUntil} /> calls are signed with the former secret, too.
          </p>
        )}
        <p class="row">
          <a class="button main" href={`/endpoints/${endpointId}`}>
            Test the endpoint
          </a>
        </p>
      </section>
    </Layout>
  )
}

interface QuestionProps {
  endpointId: string
  title: string
  words: string
  /** Where the form is sent to, below the endpoint's page. */
  to: 'delete' | 'rotate-secret'
  verb: string
  children?: Child
}

/** Asks before an endpoint is deleted, or gets another secret. */
export function QuestionPage({ endpointId, title, words, to, verb, children }: QuestionProps) {
  return (
    <Layout title={title} at="/endpoints">
      <section class={to === 'delete' ? 'verdict bad' : 'verdict'}>
        <h1>{title}</h1>
        <p>{words}</p>
        <form method="post" action={`/endpoints/${endpointId}/${to}`} class="fields one">
          {children}
          <p class="row">
            <button type="submit" class={to === 'delete' ? 'danger' : 'main'}>
              {verb}
            </button>
            <a class="button" href={`/endpoints/${endpointId}`}>
              Leave it as it is
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}
