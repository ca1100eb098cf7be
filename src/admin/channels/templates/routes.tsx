import type { Context } from 'hono'
import { z } from 'zod'
import { findChannel, readChannelFields } from '../../../../db/accounts/channels.ts'
import { findTemplate, listTemplates } from '../../../../db/accounts/templates.ts'
import type { ProviderRules } from '../../../core/channels/provider.ts'
import { sizeOfSms } from '../../../core/messages/segments.ts'
import { renderTemplate } from '../../../core/messages/template.ts'
import { isStorable } from '../../../core/requests/characters.ts'
import { canBeRecordId } from '../../../core/requests/record-id.ts'
import { templateName } from '../../../core/typed/names.ts'
import { findProvider } from '../../../providers/known.ts'
import { checkedDefinition, registerTemplate } from '../../../setup/channels/templates.ts'
import { SetupFault } from '../../../setup/setup-fault.ts'
import { makingOf } from '../../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../../context.ts'
import { PageError } from '../../errors.tsx'
import { type FieldIssues, parseTyped, type Typed, typedIn } from '../../page/typed-form.ts'
import { allow } from '../../people/allow.ts'
import { type Preview, TemplateFormPage, TemplatesPage } from './pages.tsx'

/** Registers templates with a channel, as `outbound template set` does. */
export function templates(runtime: AdminRuntime): AdminApp {
  const { db } = runtime
  const app: AdminApp = factory.createApp()

  app.get('/:channelId/templates', allow('operator'), async (c) => {
    const channel = await channelOf(c, runtime)
    const registered = await listTemplates(db, channel.channelId)
    return c.html(<TemplatesPage channel={channel} templates={registered} />)
  })

  app.get('/:channelId/templates/set', allow('operator'), async (c) => {
    const channel = await channelOf(c, runtime)
    const { name = '' } = c.req.query()
    const present = isStorable(name) ? await findTemplate(db, channel.channelId, name) : undefined
    const typed = { name, definition: present && JSON.stringify(present, null, 2) }
    return c.html(<TemplateFormPage {...{ channel, typed }} wanted={wantedOf(channel.rules)} />)
  })

  app.post('/:channelId/templates/set', allow('operator'), async (c) => {
    const channel = await channelOf(c, runtime)
    const { channelId, provider, rules } = channel
    const typed = await typedIn(c)
    const show = (issues: FieldIssues, preview?: Preview) =>
      c.html(
        <TemplateFormPage {...{ channel, typed, issues, preview }} wanted={wantedOf(rules)} />,
        preview ? 200 : 400,
      )
    const read = parseTyped(typed, { name: templateName })
    const given = jsonIn(typed.definition ?? '')
    if ('issues' in read || given === undefined)
      return show({
        ...('issues' in read && read.issues),
        ...(given === undefined && { definition: 'has to be valid JSON' }),
      })
    try {
      if (typed.do === 'preview') return show({}, previewOf(rules, checkedDefinition(provider, given), typed))
      const template = { channelId, provider, name: read.values.name, definition: given }
      await registerTemplate(makingOf(c, runtime), template)
    } catch (error) {
      if (!(error instanceof SetupFault)) throw error
      return show({ [error.field]: error.message })
    }
    return c.redirect(`/channels/${channelId}/templates`, 303)
  })
  return app
}

async function channelOf(c: Context<AdminEnv>, { db }: AdminRuntime) {
  const channelId = (c.req.param('channelId') ?? '').toLowerCase()
  const [channel, fields] = canBeRecordId(channelId)
    ? await Promise.all([findChannel(db, channelId), readChannelFields(db, channelId)])
    : []
  const rules = channel && findProvider(channel.provider)
  if (!rules || !fields) throw new PageError(404, 'There is no such channel.')
  return { channelId, name: fields.name, provider: channel.provider, rules }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The fields of the provider's definitions: `text`, or `subject, text (optional)`. */
function wantedOf({ template }: Pick<ProviderRules, 'template'>): string {
  const schema = z.toJSONSchema(template.definition, { io: 'input', unrepresentable: 'any' })
  const { properties = {}, required = [] } = schema
  const names = Object.keys(properties)
  if (names.length === 0) return 'the fields that the vendor needs'
  return names.map((name) => (required.includes(name) ? name : `${name} (optional)`)).join(', ')
}

function previewOf(rules: ProviderRules, definition: object, typed: Typed): Preview {
  const given = new Map(
    (typed.values ?? '').split('\n').map((line): [string, string] => {
      const [key = '', ...value] = line.split('=')
      return [key.trim(), value.join('=').trim()]
    }),
  )
  const keys = rules.template.variablesOf(definition)
  const variables = keys.map((key) => ({ key, value: given.get(key) || `{{${key}}}` }))
  const texts = Object.entries(definition).map(([field, value]): [string, string] => [
    field,
    typeof value === 'string' ? renderTemplate(value, variables) : JSON.stringify(value),
  ])
  const text = rules.sendsSms ? rules.template.textOf?.(definition, variables) : undefined
  return { texts, variables: keys, size: text === undefined ? undefined : sizeOfSms(text) }
}
