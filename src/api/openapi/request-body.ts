import { contactKinds, defaultContactType } from '../../core/contact.ts'
import { messageTypes } from '../../core/message.ts'
import type { Network } from '../../core/public-address.ts'
import { sendRequestSchemas } from '../../core/send-request.ts'
import { inputSchema, type JsonSchema, mapValues, notNull, ref } from './json-schema.ts'

type Properties = Record<string, JsonSchema>

/**
 * The schemas of a send's body, by name: generated from the service's own schemas, except for the checks of whole objects, which
 * are written by hand. tests/rules/openapi/document.test.ts checks that they agree with the service.
 */
export function bodySchemas(allowedPrivateNetworks: readonly Network[]): Record<string, JsonSchema> {
  const bodies = sendRequestSchemas(allowedPrivateNetworks)
  const channelInBody = inputSchema(bodies.channelInBody)
  const channelInPath = inputSchema(bodies.channelInPath)
  const { contact = {}, message = {} } = channelInBody.properties ?? {}
  const { text = {}, template = {}, media = {}, ...others } = message.properties ?? {}
  const { items: variable = {}, ...variables } = template.properties?.variables ?? {}
  const contents = { text: ref('Text'), template: ref('Template'), media: ref('Media') }
  return {
    SendRequest: withParts(channelInBody),
    ChannelSendRequest: withParts(channelInPath),
    Contact: contactSchema(contact),
    Message: messageSchema(message),
    ...Object.fromEntries(
      messageTypes.map((type) => [variantName(type), messageVariant(type, message, contents, others)]),
    ),
    Text: notNull(text),
    Template: notNull({
      ...template,
      properties: {
        ...template.properties,
        variables: { ...variables, items: ref('TemplateVariable') },
      },
    }),
    TemplateVariable: variable,
    Media: mediaSchema(media),
  }
}

function withParts(body: JsonSchema): JsonSchema {
  return { ...body, properties: { ...body.properties, contact: ref('Contact'), message: ref('Message') } }
}

function contactSchema(contact: JsonSchema): JsonSchema {
  const { [defaultContactType]: byDefault, ...others } = contactKinds
  const valueByType = Object.entries(others).reduce<JsonSchema>(
    (otherwise, [type, kind]) => ({
      if: { properties: { type: { const: type } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: valueSchema(kind),
      else: otherwise,
    }),
    valueSchema(byDefault),
  )
  return { ...contact, ...valueByType }
}

function valueSchema({ pattern, maxLength }: { pattern: string; maxLength?: number }): JsonSchema {
  return { properties: { value: { pattern, ...(maxLength !== undefined && { maxLength }) } } }
}

const variantName = (type: string) => `${type.charAt(0).toUpperCase()}${type.slice(1)}Message`

function messageSchema({ description = '' }: JsonSchema): JsonSchema {
  const variants = Object.fromEntries(messageTypes.map((type) => [type, ref(variantName(type))]))
  return {
    description,
    oneOf: Object.values(variants),
    discriminator: { propertyName: 'type', mapping: mapValues(variants, ({ $ref }) => $ref) },
  }
}

/** A message of one type: the object of that name is required, the others have to be absent or null. */
function messageVariant(
  type: string,
  message: JsonSchema,
  contents: Properties,
  { type: selector, ...association }: Properties,
): JsonSchema {
  const absent = { type: 'null', description: `Not with the type \`${type}\`.` }
  return {
    ...message,
    description: `A message of the type \`${type}\`.`,
    properties: {
      type: { ...selector, enum: [type] },
      ...mapValues(contents, (content, name) => (name === type ? content : absent)),
      ...association,
    },
    required: ['type', type],
  }
}

function mediaSchema(media: JsonSchema): JsonSchema {
  const given = (name: string) => ({ properties: { [name]: { type: 'string' } }, required: [name] })
  return { ...notNull(media), anyOf: [given('base64'), given('mediaUrl')] }
}
