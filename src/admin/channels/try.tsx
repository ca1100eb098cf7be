import type { Context } from 'hono'
import { findChannel, readChannelFields, readSealedConfig } from '../../../db/accounts/channels.ts'
import { findExplanation } from '../../../db/sends/explanation.ts'
import { explain } from '../../core/explanation/explain.ts'
import type { Explanation } from '../../core/explanation/model.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { buildTimeline } from '../../core/sends/timeline.ts'
import { typedContact } from '../../core/typed/contact.ts'
import { findProvider } from '../../providers/known.ts'
import { channelRules } from '../../sends/channel-rules.ts'
import { tryChannel } from '../../setup/channels/try-channel.ts'
import { SetupFault } from '../../setup/setup-fault.ts'
import { makingOf } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { LongField, TextField } from '../page/fields.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import { type FieldIssues, parseTyped, type Typed, typedIn } from '../page/typed-form.ts'
import { allow } from '../people/allow.ts'
import { Answer } from '../support/answer.tsx'

/** Tries a channel with a contact of the operator's, and shows what its provider answered. */
export function tries(runtime: AdminRuntime): AdminApp {
  const { db, log, shards } = runtime
  const app: AdminApp = factory.createApp()

  app.get('/:channelId/try', allow('operator'), async (c) => {
    const channel = await triedChannel(c, runtime)
    const requestId = c.req.query('requestId') ?? ''
    const result = canBeRecordId(requestId) ? await resultOf(requestId, channel.channelId) : undefined
    return c.html(<TryPage channel={channel} typed={{ text: `A try of ${channel.name}` }} result={result} />)
  })

  app.post('/:channelId/try', allow('operator'), async (c) => {
    const channel = await triedChannel(c, runtime)
    const { channelId, accountId, fields, rules } = channel
    const typed = await typedIn(c)
    const show = (issues: FieldIssues) => c.html(<TryPage channel={channel} {...{ typed, issues }} />, 400)
    const read = parseTyped(typed, { contact: typedContact, text: (text: string) => text })
    if ('issues' in read) return show(read.issues)
    try {
      const making = { ...makingOf(c, runtime), log, shards }
      const requestId = await tryChannel(making, {
        channelId,
        accountId,
        channel: fields,
        rules,
        ...read.values,
      })
      return c.redirect(`/channels/${channelId}/try?requestId=${requestId}`, 303)
    } catch (error) {
      if (!(error instanceof SetupFault)) throw error
      return show({ [error.field]: `${error.message}.` })
    }
  })
  return app

  async function resultOf(requestId: string, channelId: string) {
    const found = await findExplanation(db, requestId)
    if (found?.send.channelId !== channelId) return undefined
    const timeline = buildTimeline(found.send, found.events, 'masked')
    return { explanation: explain(timeline, found.facts), hasEnded: found.send.finishedAt !== null }
  }
}

/** The channel, with the rules that its config sets where this process can open it. */
async function triedChannel(c: Context<AdminEnv>, { db, log, settings }: AdminRuntime) {
  const channelId = (c.req.param('channelId') ?? '').toLowerCase()
  const [channel, fields, sealedConfig] = canBeRecordId(channelId)
    ? await Promise.all([
        findChannel(db, channelId),
        readChannelFields(db, channelId),
        readSealedConfig(db, channelId),
      ])
    : []
  const provider = channel && findProvider(channel.provider)
  if (!provider || !fields || sealedConfig === undefined)
    throw new PageError(404, 'There is no such channel.')
  const { CREDENTIALS_KEY, CREDENTIALS_KEY_PREVIOUS } = settings
  const rules = CREDENTIALS_KEY
    ? channelRules({ log, settings: { CREDENTIALS_KEY, CREDENTIALS_KEY_PREVIOUS } })({
        provider: channel.provider,
        channelId,
        sealedConfig,
      })
    : provider
  return { channelId, accountId: channel.accountId, name: fields.name, fields, rules }
}

const lookAgainSeconds = 2

interface TryPageProps {
  channel: Awaited<ReturnType<typeof triedChannel>>
  typed: Typed
  issues?: FieldIssues
  result?: { explanation: Explanation; hasEnded: boolean } | undefined
}

function TryPage({ channel, typed, issues = {}, result }: TryPageProps) {
  const { channelId, name, rules } = channel
  const kinds = rules.contactTypes.map((type) =>
    type === 'phone' ? 'a number such as +4915112345678' : 'an address',
  )
  return (
    <Layout
      title="Try the channel"
      at="/channels"
      refreshSeconds={result && !result.hasEnded ? lookAgainSeconds : undefined}
    >
      <PageHead title="Try the channel" about={<a href={`/channels/${channelId}`}>{name}</a>} />
      {result && <Result channel={channel} {...result} />}
      <section aria-labelledby="try">
        <h2 id="try">{result ? 'Try again' : 'Send a text to yourself'}</h2>
        <p class="muted">
          A real message goes out, before all others that wait, and counts in the account's usage. If it can't
          go within 10 minutes, it isn't sent.
        </p>
        <form method="post" action={`/channels/${channelId}/try`} class="fields one" autocomplete="off">
          <TextField
            name="contact"
            label="Contact"
            value={typed.contact}
            hint={`Your own: ${kinds.join(', or ')}`}
            issue={issues.contact}
            required
          />
          <LongField name="text" label="Text" value={typed.text} issue={issues.text} rows={3} required />
          <button type="submit" class={result ? undefined : 'main'}>
            Send the try
          </button>
        </form>
      </section>
    </Layout>
  )
}

function Result({
  channel,
  explanation,
  hasEnded,
}: Pick<TryPageProps, 'channel'> & NonNullable<TryPageProps['result']>) {
  const { tone, summary, advice, entries, requestId } = explanation
  const answers = entries.filter(({ answer }) => answer !== undefined)
  const last = answers.at(-1)?.answer
  return (
    <section class={`verdict ${tone}`} aria-labelledby="result">
      <h2 id="result">{summary}</h2>
      {last && <Answer answer={last} />}
      {advice && <p>{advice.text}</p>}
      {!hasEnded && <p class="muted">This page looks again every {lookAgainSeconds} s.</p>}
      <p class="row">
        <a class="button" href={`/support/${requestId}`}>
          Its timeline
        </a>
        <a class="button main" href={`/accounts/${channel.accountId}`}>
          What is next
        </a>
      </p>
    </section>
  )
}
