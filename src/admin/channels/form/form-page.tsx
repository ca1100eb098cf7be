import type { ConfigField } from '../../../core/channels/config-fields.ts'
import type { ShownConfig } from '../../../core/channels/shown-config.ts'
import { knownNames } from '../../../providers/known.ts'
import { Choice, TextField } from '../../page/fields.tsx'
import { Layout } from '../../page/layout.tsx'
import { PageHead } from '../../page/page-head.tsx'
import { ConfigSection } from './config-section.tsx'
import { type RulesProps, RulesSections } from './rules-section.tsx'

interface FormPageProps extends RulesProps {
  title: string
  /** Where the form is sent to, and where who leaves it goes. */
  action: string
  back: string
  accountName: string
  provider: string
  fields: readonly ConfigField[]
  present: ShownConfig | undefined
  /** The words of its button. */
  verb: string
}

/** Asks for what a channel is: its config by the provider's schema, and its rules. */
export function ChannelFormPage({
  title,
  action,
  back,
  accountName,
  provider,
  verb,
  ...form
}: FormPageProps) {
  const { fields, present, rules, typed, issues, others } = form
  return (
    <Layout title={title} at="/channels">
      <PageHead title={title} about={`By ${provider}, for ${accountName}`} />
      {Object.keys(issues).length > 0 && (
        <p class="fault" role="alert">
          Nothing was changed: {Object.keys(issues).length === 1 ? 'one field needs' : 'some fields need'}{' '}
          another look, below. Type secrets again.
        </p>
      )}
      <form method="post" action={action} autocomplete="off">
        <section aria-label="Name">
          <div class="fields">
            <TextField
              name="name"
              label="Name"
              value={typed.name}
              hint="Shown in lists and choices"
              issue={issues.name}
              required
            />
          </div>
        </section>
        <ConfigSection {...{ provider, fields, present, typed, issues }} />
        <RulesSections {...{ rules, typed, issues, others }} />
        <p class="row">
          <button type="submit" class="main">
            {verb}
          </button>
          <a class="button" href={back}>
            Leave it
          </a>
        </p>
      </form>
    </Layout>
  )
}

interface ChoicePageProps {
  account: { accountId: string; name: string } | undefined
  provider: string | undefined
  issue?: string
}

/** Asks whose new channel it is, and by which provider. */
export function NewChannelPage({ account, provider, issue }: ChoicePageProps) {
  return (
    <Layout title="New channel" at="/channels">
      <PageHead title="New channel" about="A channel sends by one provider, for one account" />
      <section aria-label="New channel">
        <form method="get" action="/channels/new" class="fields one">
          <TextField
            name="accountId"
            label="Account"
            value={account?.name}
            hint="Its name, or its id"
            issue={issue}
            required
          />
          <Choice name="provider" label="Provider" value={provider} options={knownNames()} none={null} />
          <p class="row">
            <button type="submit" class="main">
              Go on
            </button>
            <a class="button" href="/channels">
              Leave it
            </a>
          </p>
        </form>
      </section>
    </Layout>
  )
}
