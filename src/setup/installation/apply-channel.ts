import { configFieldsOf, typedConfigValue } from '../../core/channels/config-fields.ts'
import { openConfig } from '../../core/channels/sealed-config.ts'
import { credentialsKeys } from '../../platform/settings/settings.ts'
import { findProvider, knownNames, providerOf } from '../../providers/known.ts'
import type { ConfigIssues } from '../channels/channel-config.ts'
import { changeChannel, makeChannel } from '../channels/channels.ts'
import { checkedDefinition, registerTemplate } from '../channels/templates.ts'
import { SetupFault } from '../setup-fault.ts'
import { type Applying, attempt, type Path, referenced, referenceText, stable } from './applying.ts'
import {
  askedOf,
  type ChannelSettings,
  type StoredChannel,
  settingNames,
  settingsOf,
} from './channel-settings.ts'
import { type ChannelInFile, isReference } from './document.ts'

interface Place {
  accountId: string
  /** The account's name. */
  account: string
  path: Path
}

/** Creates or changes a channel, but for its fallback, which may be a channel that isn't there yet. @returns its id. */
export async function applyChannel(
  applying: Applying,
  { accountId, account, path }: Place,
  wanted: ChannelInFile,
): Promise<string | undefined> {
  const { name, provider } = wanted
  const stored = applying.installation.channels.find(
    (channel) => channel.accountId === accountId && channel.name === name,
  )
  if (!findProvider(provider)) {
    const message = `no provider is named ${provider}: use one of ${knownNames().join(', ')}`
    applying.issues.push({ path: [...path, 'provider'], message })
    return undefined
  }
  if (stored && stored.provider !== provider) {
    const message = `the channel is of ${stored.provider}, and keeps its provider: give the new channel another name`
    applying.issues.push({ path: [...path, 'provider'], message })
    return undefined
  }
  const label = `${account} / ${name}`
  const id = stored
    ? await change(applying, { path, label, stored, wanted })
    : await create(applying, { path, label, accountId, wanted })
  if (id !== undefined) await applyTemplates(applying, { path, label, channelId: id, wanted })
  return id
}

interface Creation {
  path: Path
  label: string
  accountId: string
  wanted: ChannelInFile
}

async function create(applying: Applying, { path, label, accountId, wanted }: Creation) {
  const { name, provider } = wanted
  const before = applying.missing.length
  const config = configOf(applying, [...path, 'config'], wanted, undefined)
  if (applying.missing.length > before) return undefined
  let id: string | undefined
  await attempt(applying, path, { change: 'create', what: 'channel', name: label }, async () => {
    const asked = { ...askedOf(settingsIn(wanted)), name }
    const made = await makeChannel(applying, { accountId, provider, config, asked })
    if ('issues' in made) noteConfig(applying, path, made.issues)
    else id = made.channelId
  })
  return id
}

interface ChannelUpdate {
  path: Path
  label: string
  stored: StoredChannel
  wanted: ChannelInFile
}

async function change(applying: Applying, { path, label, stored, wanted }: ChannelUpdate): Promise<string> {
  const { id, provider, sealedConfig } = stored
  const present: Partial<ChannelSettings> = settingsOf(stored)
  const settings = settingsIn(wanted)
  const changed = settingNames.filter(
    (name) => name in settings && stable(settings[name]) !== stable(present[name]),
  )
  const former = openConfig(sealedConfig, id, credentialsKeys(applying.keys())) as Record<string, unknown>
  const config = wanted.config && configOf(applying, [...path, 'config'], wanted, former)
  const fieldsChanged = config ? changedFields(provider, former, config) : []
  if (changed.length + fieldsChanged.length === 0) return id
  const asked = askedOf(Object.fromEntries(changed.map((name) => [name, settings[name]])))
  const fields = [...changed, ...fieldsChanged.map((field) => `config.${field}`)]
  await attempt(applying, path, { change: 'update', what: 'channel', name: label, fields }, async () => {
    const made = await changeChannel(applying, {
      id,
      asked,
      ...(fieldsChanged.length > 0 && { config }),
    })
    if (typeof made === 'object' && 'issues' in made) noteConfig(applying, path, made.issues)
  })
  return id
}

const settingsIn = (wanted: ChannelInFile): Partial<ChannelSettings> =>
  Object.fromEntries(
    settingNames.filter((name) => wanted[name] !== undefined).map((name) => [name, wanted[name]]),
  )

/** The fields of the config that change; all, if the provider refuses it: then the change says why. */
function changedFields(provider: string, former: Record<string, unknown>, config: object): string[] {
  const { success, data } = providerOf(provider).config.safeParse(config)
  if (!success) return Object.keys(config)
  const wanted = JSON.parse(JSON.stringify(data)) as Record<string, unknown>
  return [...new Set([...Object.keys(former), ...Object.keys(wanted)])].filter(
    (field) => stable(former[field]) !== stable(wanted[field]),
  )
}

function noteConfig({ issues }: Applying, path: Path, { byField, words }: ConfigIssues): void {
  const fields = Object.entries(byField)
  if (fields.length === 0) issues.push({ path: [...path, 'config'], message: words })
  for (const [field, message] of fields)
    issues.push({ path: field === '' ? [...path, 'config'] : [...path, 'config', field], message })
}

/** The config with its secrets. One that isn't set stays as it is; for a new channel it is missing. */
function configOf(
  applying: Applying,
  path: Path,
  { provider, config = {} }: ChannelInFile,
  former: Readonly<Record<string, unknown>> | undefined,
): Record<string, unknown> {
  const resolved: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(config)) {
    if (!isReference(value)) {
      resolved[field] = value
      continue
    }
    const text = referenced(value, applying.secrets)
    if (text !== undefined) resolved[field] = typedValue(applying, [...path, field], provider, text)
    else if (former?.[field] !== undefined) resolved[field] = former[field]
    else applying.missing.push(referenceText(value))
  }
  return resolved
}

function typedValue({ issues }: Applying, path: Path, provider: string, text: string): unknown {
  const field = configFieldsOf(providerOf(provider)).find(({ name }) => name === path.at(-1))
  try {
    return field ? typedConfigValue(field, text) : text
  } catch {
    issues.push({ path, message: 'what it leads to has to be JSON' })
    return undefined
  }
}

interface Templates {
  path: Path
  label: string
  channelId: string
  wanted: ChannelInFile
}

async function applyTemplates(
  applying: Applying,
  { path, label, channelId, wanted }: Templates,
): Promise<void> {
  const { provider, templates = {} } = wanted
  const present = new Map(
    applying.templatesOf(channelId).map(({ name, definition }) => [name, stable(definition)]),
  )
  for (const [name, definition] of Object.entries(templates)) {
    const at = [...path, 'templates', name]
    const former = present.get(name)
    try {
      if (former === stable(checkedDefinition(provider, definition))) continue
    } catch (error) {
      if (!(error instanceof SetupFault)) throw error
      applying.issues.push({ path: at, message: error.message })
      continue
    }
    const verb = former === undefined ? 'create' : 'update'
    await attempt(applying, at, { change: verb, what: 'template', name: `${label} / ${name}` }, () =>
      registerTemplate(applying, { channelId, provider, name, definition }),
    )
  }
}
