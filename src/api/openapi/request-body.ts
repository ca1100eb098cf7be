import { contactKinds, defaultContactType } from '../../core/contacts/contact.ts'
import { messageTypes } from '../../core/messages/message.ts'
import { type JsonSchema, mapValues, notNull, ref } from './json-schema.ts'

type Properties = Record<string, JsonSchema>

/**
 * Adds the parts of a send's body, by name. Zod has no words for its checks of whole objects, so these are written by hand:
 * tests/rules/openapi/document.test.ts checks that they agree with the service.
 */
export function withSendParts(named: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const { SendRequest = {}, ChannelSendRequest = {}, BatchRequest = {} } = named
  const { contact = {}, message = {} } = SendRequest.properties ?? {}
  const { text = {}, template = {}, media = {}, ...others } = message.properties ?? {}
  const { items: variable = {}, ...variables } = template.properties?.variables ?? {}
  const contents = { text: ref('Text'), template: ref('Template'), media: ref('Media') }
  const { messages = {} } = BatchRequest.properties ?? {}
  return {
    ...named,
    SendRequest: withParts(SendRequest),
    ChannelSendRequest: withParts(ChannelSendRequest),
    BatchRequest: {
      ...BatchRequest,
      properties: { messages: { ...messages, items: ref('SendRequest') } },
    },
    Contact: contactSchema(contact),
    Message: messageSchema(message),
    ...Object.fromEntries(
      messageTypes.map((type) => [variantName(type), messageVariant(type, message, contents[type], others)]),
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
    ...mediaSchemas(media),
  }
}

function withParts(body: JsonSchema): JsonSchema {
  return { ...body, properties: { ...body.properties, contact: ref('Contact'), message: ref('Message') } }
}

function contactSchema(contact: JsonSchema): JsonSchema {
  const { [defaultContactType]: byDefault, ...others } = contactKinds
  // Named in each branch, since validators for examples take what a branch doesn't name for an unknown property.
  const names = Object.keys(contact.properties ?? {})
  const valueSchema = ({ pattern, maxLength }: { pattern: string; maxLength?: number }): JsonSchema => ({
    properties: {
      ...Object.fromEntries(names.map((name) => [name, true])),
      value: { pattern, ...(maxLength !== undefined && { maxLength }) },
    } as Properties,
  })
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

const variantName = (type: string) => `${type.charAt(0).toUpperCase()}${type.slice(1)}Message`

function messageSchema({ description = '' }: JsonSchema): JsonSchema {
  const variants = Object.fromEntries(messageTypes.map((type) => [type, ref(variantName(type))]))
  return {
    description,
    oneOf: Object.values(variants),
    discriminator: { propertyName: 'type', mapping: mapValues(variants, ({ $ref }) => $ref) },
  }
}

/**
 * A message of one type: the object of that name is required. The others have to be absent: the service takes null for them too,
 * but a property that can only be null doesn't pass through the types of openapi-fetch.
 */
function messageVariant(
  type: string,
  message: JsonSchema,
  content: JsonSchema,
  { type: selector, ...association }: Properties,
): JsonSchema {
  return {
    ...message,
    description: `A message of the type \`${type}\`.`,
    properties: {
      type: { ...selector, enum: [type] },
      [type]: content,
      ...association,
    },
    required: ['type', type],
  }
}

/** Two whole schemas, since client generators don't join the parts of an `anyOf` with what stands beside it. */
function mediaSchemas({ description = '', ...media }: JsonSchema): Record<string, JsonSchema> {
  const given = (name: string): JsonSchema => ({
    ...notNull(media),
    description: `A media with its \`${name}\`.`,
    properties: { ...media.properties, [name]: notNull(media.properties?.[name] ?? {}) },
    required: [...(media.required as string[]), name],
  })
  return {
    Media: { description, anyOf: [ref('MediaByContent'), ref('MediaByUrl')] },
    MediaByContent: given('base64'),
    MediaByUrl: given('mediaUrl'),
  }
}
