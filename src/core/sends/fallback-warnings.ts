import type { ProviderRules } from '../channels/provider.ts'

/** A channel, as far as it decides what it can send. */
export interface Carrier {
  rules: ProviderRules
  templates: readonly { name: string; definition: object }[]
}

/** Sends that a channel takes and its fallback can't send: they end as they would without it. */
export function notCarried(from: Carrier, to: Carrier): string[] {
  const missing = <Word>(ours: readonly Word[], theirs: readonly Word[]) =>
    ours.filter((word) => !theirs.includes(word))
  const contactTypes = missing(from.rules.contactTypes, to.rules.contactTypes)
  const messageTypes = missing(from.rules.messageTypes, to.rules.messageTypes)
  const { maxTextCharacters } = to.rules
  return [
    ...contactTypes.map((type) => `contacts of the type ${type}`),
    ...messageTypes.map((type) => `messages of the type ${type}`),
    ...(maxTextCharacters < from.rules.maxTextCharacters
      ? [`texts of more than ${maxTextCharacters} characters`]
      : []),
    ...(messageTypes.includes('template') ? [] : templatesNotCarried(from, to)),
  ]
}

function templatesNotCarried(from: Carrier, to: Carrier): string[] {
  return from.templates.flatMap(({ name, definition }) => {
    const theirs = to.templates.find((template) => template.name === name)
    if (!theirs) return [`the template ${name}, which is not registered with it`]
    const keys = new Set(from.rules.template.variablesOf(definition))
    const theirKeys = to.rules.template.variablesOf(theirs.definition)
    const areSame = theirKeys.length === keys.size && theirKeys.every((key) => keys.has(key))
    return areSame ? [] : [`the template ${name}, which has other variables there`]
  })
}
