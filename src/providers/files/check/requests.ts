import { contactKinds, defaultContactType } from '../../../core/contacts/contact.ts'
import type { Message } from '../../../core/messages/message.ts'
import type { Delivery } from '../../delivery.ts'
import { textOf } from '../../shared/http/http-body.ts'
import type { HttpCall, HttpRequest } from '../../shared/http/http-call.ts'
import { outcomeOfAnswer } from '../../shared/http/outcome-of-answer.ts'
import type { CompiledFile } from '../compile.ts'
import type { SendExample } from '../form/examples.ts'
import type { FileConfig } from '../request/holes.ts'
import { UnfilledHole } from '../request/tree.ts'
import { checkContext } from './context.ts'

type Call = HttpCall<FileConfig>
type Sample = Delivery<FileConfig>

/** The faults of the requests that these messages become. */
export function requestFaults(
  { request }: Pick<CompiledFile, 'request'>,
  messages: readonly Sample[],
): string[] {
  return messages.flatMap((delivery) => {
    try {
      return structureFaults(request, delivery)
    } catch (error) {
      if (error instanceof UnfilledHole) return [error.message]
      throw error
    }
  })
}

/** The same message with harmless texts has the same structure: nothing of a text became a field, a line or an address. */
function structureFaults(requestOf: CompiledFile['request'], delivery: Sample): string[] {
  const request = requestOf(delivery, checkContext)
  const harmless = requestOf(harmlessly(delivery), checkContext)
  const faults: string[] = []
  for (const [name, value] of Object.entries(request.headers)) {
    if (!/^[\x20-\x7e]*$/.test(value))
      faults.push(`/request/headers/${name}: has a value that no header can have`)
  }
  if (hostOf(request) !== hostOf(harmless)) faults.push('/request/path: a message changes the host')
  if (shapeOf(request) !== shapeOf(harmless))
    faults.push('/request: a message changes the structure of the request')
  return faults
}

const hostOf = ({ url }: HttpRequest) => new URL(url).host

/** The names of headers, of the query and of the body's fields, without values. */
export function shapeOf({ url, headers, body }: HttpRequest): string {
  const { pathname, searchParams } = new URL(url)
  return JSON.stringify([
    pathname,
    [...searchParams.keys()],
    Object.keys(headers),
    shapeOfBody(headers['content-type'] ?? '', textOf(body)),
  ])
}

function shapeOfBody(type: string, body: string): unknown {
  if (type === 'application/json') return shapeOfJson(JSON.parse(body))
  const boundary = /boundary=(.*)$/.exec(type)?.[1]
  if (boundary === undefined) return [...new URLSearchParams(body).keys()]
  return body
    .split(`--${boundary}`)
    .map((part) =>
      /^\r\ncontent-disposition: form-data; name="([^"]*)"(; filename="[^"]*")?\r\n(content-type: [\w/.+-]+\r\n)?\r\n/
        .exec(part)
        ?.slice(1, 2),
    )
}

function shapeOfJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOfJson)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.entries(value).map(([key, item]) => [key, shapeOfJson(item)])
}

const harmless = (text: string | undefined) => (text ? 'x' : text)

function harmlessly(delivery: Sample): Sample {
  const { message, contact, reference } = delivery
  const { name } = contact
  return {
    ...delivery,
    contact: { ...contact, ...(name !== undefined && { name: 'x' }) },
    reference: reference && 'x',
    message: { ...harmlessMessage(message), email: harmlessMail(message.email) },
  }
}

function harmlessMail(email: Message['email']): Message['email'] {
  if (!email) return undefined
  const { subject, html, fromName, attachments, tags } = email
  return {
    ...{ ...email, subject: harmless(subject), html: harmless(html), fromName: harmless(fromName) },
    ...(attachments && { attachments: attachments.map((file) => ({ ...file, filename: 'x' })) }),
    ...(tags && { tags: Object.fromEntries(Object.keys(tags).map((name) => [name, 'x'])) }),
  }
}

function harmlessMessage(message: Message): Message {
  if (message.type === 'text') return { type: 'text', text: { value: 'x' } }
  if (message.type === 'template') {
    const { variables, ...template } = message.template
    return {
      type: 'template',
      template: { ...template, variables: variables.map(({ key, value }) => ({ key, value: value && 'x' })) },
    }
  }
  const { caption, filename, mediaUrl, ...media } = message.media
  return {
    type: 'media',
    media: {
      ...media,
      caption: harmless(caption),
      filename: harmless(filename),
      ...(mediaUrl !== undefined && { mediaUrl: 'https://example.com/x' }),
    },
  }
}

/** How an example of a send comes out otherwise than it says. */
export function sendExampleFaults(
  { form, provider, request }: CompiledFile,
  example: SendExample,
  path: string,
): string[] {
  const config = provider.config.safeParse({ ...form.examples.config, ...example.config })
  if (!config.success) return [`${path}/config: ${config.error.issues[0]?.message}`]
  const [type = defaultContactType] = provider.contactTypes
  const delivery: Sample = {
    requestId: checkContext.requestId,
    channelId: checkContext.channelId,
    contact: { type, value: contactKinds[type].example, ...example.contact } as Sample['contact'],
    message: withDefinition(example),
    mediaContent: undefined,
    flowId: null,
    reference: null,
    conversationId: checkContext.channelId,
    attempt: 1,
    expiresInMs: null,
    config: config.data,
  }
  try {
    return [
      ...differences(request(delivery, checkContext), example, config.data, path),
      ...outcomeFaults({ form, provider }, example, config.data, path),
    ]
  } catch (error) {
    if (error instanceof UnfilledHole) return [`${path}: ${error.message}`]
    throw error
  }
}

function withDefinition({ message, template }: SendExample): Message {
  const given = message as unknown as Message
  return given.type === 'template' && template
    ? {
        type: 'template',
        template: {
          ...given.template,
          variables: given.template.variables ?? [],
          definition: template as object,
        },
      }
    : given
}

function differences(
  request: HttpRequest,
  { request: wanted }: SendExample,
  config: FileConfig,
  path: string,
): string[] {
  if (!wanted) return []
  const at = request.url.slice(String(config.baseUrl).length)
  const faults: string[] = []
  const compare = (what: string, got: unknown, want: unknown) => {
    if (want !== undefined && JSON.stringify(sortedDeep(got)) !== JSON.stringify(sortedDeep(want)))
      faults.push(`${path}/request/${what}: the request has ${JSON.stringify(got)}`)
  }
  compare('path', at, wanted.path)
  if (wanted.json !== undefined) compare('json', JSON.parse(String(request.body)), wanted.json)
  if (wanted.form !== undefined) {
    const fields = new URLSearchParams(String(request.body))
    const names = [...new Set(fields.keys())]
    const given = names.map((name) => [
      name,
      fields.getAll(name).length > 1 ? fields.getAll(name) : fields.get(name),
    ])
    compare('form', Object.fromEntries(given), wanted.form)
  }
  for (const [name, value] of Object.entries(wanted.headers ?? {}))
    compare(`headers/${name}`, request.headers[name.toLowerCase()], value)
  return faults
}

function sortedDeep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedDeep)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, item]) => [key, sortedDeep(item)]),
  )
}

function outcomeFaults(
  { provider }: Pick<CompiledFile, 'form' | 'provider'>,
  { answer, outcome: wanted }: SendExample,
  config: FileConfig,
  path: string,
): string[] {
  if (!answer || !wanted) return answer || wanted ? [`${path}: give both answer and outcome`] : []
  const body =
    answer.body === undefined
      ? ''
      : typeof answer.body === 'string'
        ? answer.body
        : JSON.stringify(answer.body)
  const headers = Object.fromEntries(
    Object.entries(answer.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const given = { kind: 'answer', status: answer.status, headers, body, isWhole: true, at: 0 } as const
  const got = outcomeOfAnswer(given, { call: provider.call as Call, codes: provider.codes }, config)
  const shown = {
    outcome: got.outcome,
    ...('fault' in got && { fault: got.fault }),
    ...('providerMessageId' in got && { id: got.providerMessageId }),
    code: got.providerCode,
    ...('cost' in got && { cost: got.cost }),
  }
  const differs = Object.entries(wanted).some(
    ([name, value]) => JSON.stringify(shown[name as keyof typeof shown]) !== JSON.stringify(value),
  )
  return differs ? [`${path}/outcome: the answer is ${JSON.stringify(shown)}`] : []
}
