import type { listTemplates } from '../../../../db/accounts/templates.ts'
import type { SmsSize } from '../../../core/messages/segments.ts'
import { DataTable } from '../../page/data-table.tsx'
import { LongField, TextField } from '../../page/fields.tsx'
import { Moment } from '../../page/inline-elements.tsx'
import { Layout } from '../../page/layout.tsx'
import { PageHead } from '../../page/page-head.tsx'
import type { FieldIssues, Typed } from '../../page/typed-form.ts'
import { Fact } from '../../support/send-details.tsx'

interface ChannelOfTemplates {
  channelId: string
  name: string
}

interface ListProps {
  channel: ChannelOfTemplates
  templates: Awaited<ReturnType<typeof listTemplates>>
}

/** The templates that are registered with a channel. */
export function TemplatesPage({ channel: { channelId, name }, templates }: ListProps) {
  const link = `/channels/${channelId}/templates`
  return (
    <Layout title="Templates" at="/channels">
      <PageHead title="Templates" about={<a href={`/channels/${channelId}`}>{name}</a>}>
        <a class="button main" href={`${link}/set`}>
          Register a template
        </a>
      </PageHead>
      <section aria-label="Templates">
        {templates.length === 0 ? (
          <p class="empty">None yet. A send names a template, and gives its variables.</p>
        ) : (
          <DataTable
            label="Templates"
            rows={templates}
            idOf={({ name }) => name}
            columns={[
              {
                name: 'Template',
                cell: ({ name }) => (
                  <a class="name" href={`${link}/set?${new URLSearchParams({ name })}`}>
                    {name}
                  </a>
                ),
              },
              { name: 'Definition', cell: ({ definition }) => <code>{JSON.stringify(definition)}</code> },
              { name: 'Set', cell: ({ setAt }) => <Moment at={setAt} short /> },
            ]}
          />
        )}
      </section>
    </Layout>
  )
}

/** What a template becomes with some values. */
export interface Preview {
  /** The texts of its definition, by their fields, filled. */
  texts: readonly [field: string, text: string][]
  variables: readonly string[]
  size: SmsSize | undefined
}

interface FormProps {
  channel: ChannelOfTemplates
  /** The fields that the provider's definition has. */
  wanted: string
  typed: Typed
  issues?: FieldIssues
  preview?: Preview | undefined
}

/** Asks for a template, and shows what it becomes. */
export function TemplateFormPage({ channel, wanted, typed, issues = {}, preview }: FormProps) {
  const link = `/channels/${channel.channelId}/templates`
  return (
    <Layout title="Template" at="/channels">
      <PageHead
        title="Register a template"
        about={`With the channel ${channel.name}; one of the same name is replaced`}
      />
      <form method="post" action={`${link}/set`}>
        <section aria-label="Template">
          <div class="fields one">
            <TextField
              name="name"
              label="Name"
              value={typed.name}
              hint="The name that sends use"
              issue={issues.name}
              required
            />
            <LongField
              name="definition"
              label="Definition"
              value={typed.definition}
              hint={`As JSON, with ${wanted}. Variables stand as {{key}} where its texts are here`}
              issue={issues.definition}
              rows={8}
              required
            />
            <LongField
              name="values"
              label="Values for the preview"
              value={typed.values}
              hint="One a line, such as name=Ann. The others are shown as their keys"
              rows={3}
            />
          </div>
        </section>
        {preview && <PreviewSection {...preview} />}
        <p class="row">
          <button type="submit" name="do" value="preview" class={preview ? undefined : 'main'}>
            Preview
          </button>
          <button type="submit" name="do" value="set" class={preview ? 'main' : undefined}>
            Register
          </button>
          <a class="button" href={link}>
            Leave it
          </a>
        </p>
      </form>
    </Layout>
  )
}

function PreviewSection({ texts, variables, size }: Preview) {
  return (
    <section aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      <dl class="facts">
        {texts.map(([field, text]) => (
          <Fact name={field}>
            <span class="words">{text}</span>
          </Fact>
        ))}
        <Fact name="Variables">{variables.join(', ') || 'none'}</Fact>
        {size && (
          <Fact name="As SMS">
            {size.segments} {size.segments === 1 ? 'segment' : 'segments'}, {size.encoding}
          </Fact>
        )}
      </dl>
    </section>
  )
}
