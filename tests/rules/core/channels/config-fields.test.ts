import { expect, test } from 'vitest'
import { configFieldsOf, typedConfigValue } from '../../../../src/core/channels/config-fields.ts'
import { knownNames, providerOf } from '../../../../src/providers/known.ts'

test.each(knownNames())('each field of a config of %s has words, and the sandbox has none', (name) => {
  const fields = configFieldsOf(providerOf(name))
  expect(fields.filter(({ words }) => words.trim() === '')).toEqual([])
  expect(fields.length === 0).toBe(name === 'sandbox')
})

const fieldOf = (provider: string, name: string) =>
  configFieldsOf(providerOf(provider)).find((field) => field.name === name)

test.each([
  ['twilio', 'accountSid', { kind: 'text', isRequired: true, isShown: true }],
  ['twilio', 'authToken', { kind: 'text', isRequired: false, isShown: false }],
  ['twilio', 'statusCallback', { kind: 'yesNo', isRequired: false, isShown: true }],
  ['vonage', 'via', { kind: 'text', isRequired: true, choices: ['sms', 'whatsapp'] }],
  ['vonage', 'privateKey', { kind: 'lines', isShown: false }],
  ['smtp', 'port', { kind: 'number', isRequired: false, isShown: true }],
  ['smtp', 'headers', { kind: 'json', isShown: false }],
  ['webhook', 'secret', { kind: 'text', isRequired: true, isShown: false }],
  ['webhook', 'retryDelaysSeconds', { kind: 'json', isRequired: false }],
  ['whatsapp-cloud', 'keyHeader', { choices: ['D360-API-KEY'], isRequired: false }],
  ['africas-talking', 'username', { kind: 'text', isRequired: true, isShown: true }],
  ['africas-talking', 'apiKey', { kind: 'text', isRequired: true, isShown: false }],
])('of %s, %s is asked for by its schema', (provider, name, expected) => {
  expect(fieldOf(provider, name)).toMatchObject(expected)
})

test.each([
  ['smtp', 'port', '587', 587],
  ['smtp', 'port', 'many', 'many'],
  ['smtp', 'secure', 'true', true],
  ['smtp', 'headers', '{"A": "b"}', { A: 'b' }],
  ['webhook', 'secret', '["whsec_a", "whsec_b"]', ['whsec_a', 'whsec_b']],
  ['webhook', 'secret', 'whsec_a', 'whsec_a'],
  ['twilio', 'from', '', undefined],
])('%s.%s typed as %j becomes a value of the config', (provider, name, text, value) => {
  const field = fieldOf(provider, name)
  expect(field && typedConfigValue(field, text)).toEqual(value)
})
