import type { Command } from 'commander'
import { Agent, request as call } from 'undici'
import { addressIssue } from '../core/channels/config-address.ts'
import type { Contact } from '../core/contacts/contact.ts'
import { contentOf, type MessageContent, messageSchema } from '../core/messages/message-body.ts'
import { receiptsLink } from '../core/receipts/receipts-link.ts'
import { describeIssue, describeIssues } from '../core/requests/issues.ts'
import type { Network } from '../core/requests/public-address.ts'
import { sendIssue } from '../core/sends/send-issue.ts'
import { createGuardedConnector } from '../platform/http/guarded-connector.ts'
import { type CompiledFile, compileFile } from '../providers/files/compile.ts'
import { fileOf } from '../providers/known.ts'
import { firstDelivery } from '../providers/shared/first-delivery.ts'
import { createAccessTokens, withoutToken } from '../providers/shared/http/access-tokens.ts'
import { textOf } from '../providers/shared/http/http-body.ts'
import type { CallContext, HttpAnswer, HttpCall, HttpRequest } from '../providers/shared/http/http-call.ts'
import { outcomeOfAnswer } from '../providers/shared/http/outcome-of-answer.ts'
import { type Answerer, CliError } from './answer.ts'
import { contact } from './arguments.ts'
import { type GivenConfig, givenConfig, givenJson, warnOfArgument } from './given-json.ts'
import { readText } from './provider-file.ts'

interface TryOptions {
  file?: string
  config: GivenConfig
  to: Pick<Contact, 'type' | 'value'>
  text?: string
  message?: unknown
  send?: true
}

type FileDelivery = Parameters<CompiledFile['request']>[0]

const callMs = 15_000
const maxAnswerBytes = 1024 * 1024

/** Prints the request that a message becomes, without secrets; and makes it, if asked to. */
export function addTry(provider: Command, answer: Answerer): void {
  provider
    .command('try')
    .description(
      'print the request that a message becomes, with its secrets masked; it makes no call without --send',
    )
    .argument('[name]', 'the name of a provider that a file describes')
    .option('--file <path>', 'a file, instead of a name; needs no database')
    .requiredOption('--config <json>', "the provider's config, as @FILE, - for stdin, or JSON", givenConfig)
    .requiredOption('--to <contact>', 'the contact', contact)
    .option('--text <text>', 'the text to send')
    .option('--message <json>', 'or a message as the API takes it', givenJson('--message'))
    .option('--send', 'make the call: the contact gets the message')
    .action((name: string | undefined, options: TryOptions, command: Command) => {
      const { file } = options
      if ((name === undefined) === (file === undefined))
        throw new CliError(
          'usage',
          'Give the name of a provider, or --file; see: outbound provider try --help',
        )
      const fileToTry = () => (file === undefined ? namedFile(name ?? '') : givenFile(file))
      return answer(
        command,
        async ({ setting, warn }) => {
          const tried = fileToTry()
          const answer = await tryFile(tried, options, setting('ALLOWED_PRIVATE_NETWORKS'))
          warnOfArgument(options.config, tried.provider.shownFields, warn)
          return answer
        },
        undefined,
        { needsDatabase: file === undefined },
      )
    })
}

function namedFile(name: string): CompiledFile {
  const file = fileOf(name)
  if (file) return file
  throw new CliError('not_found', `No file describes a provider named ${name}; see: outbound provider list`)
}

function givenFile(path: string): CompiledFile {
  const file = compileFile(readText(path))
  if (!('issues' in file)) return file
  throw new CliError('usage', `Fix the file: ${file.issues.join('; ')}`)
}

const exampleUrl = 'https://messages.example.com'
const context: CallContext = {
  nowMs: Date.now,
  mediaLink: (requestId) => `${exampleUrl}/media/${requestId}`,
  receiptsLink: (channelId, requestId) => receiptsLink(exampleUrl, channelId, requestId),
  traceparent: () => undefined,
}

async function tryFile(file: CompiledFile, options: TryOptions, networks: readonly Network[]) {
  const { provider, form } = file
  const parsed = provider.config.safeParse(options.config.config, { error: describeIssue })
  if (!parsed.success)
    throw new CliError('usage', `Fix --config for ${form.name}: ${describeIssues(parsed.error.issues)}`)
  const issue = addressIssue(parsed.data, networks)
  if (issue) throw new CliError('usage', `Fix --config for ${form.name}: ${issue}`)
  const { message, mediaContent } = messageOf(options, networks)
  const wrong = sendIssue(provider, { contact: options.to, message, hasPublicUrl: true })
  if (wrong) throw new CliError('usage', `${form.name} can't send this: ${wrong}`)
  const delivery = firstDelivery({ contact: options.to, message, mediaContent, config: parsed.data })
  const { request } = provider.call as HttpCall<Record<string, string>>
  const masked = request(
    { ...delivery, config: withoutSecrets(file, parsed.data) },
    { ...context, accessToken: '<access token>' },
  )
  if ('outcome' in masked) throw new CliError('usage', `${form.name} can't send this: ${masked.reason}`)
  const shown = { requestId: delivery.requestId, request: shownRequest(masked) }
  if (!options.send) return shown
  return { ...shown, ...(await send(file, delivery, networks)) }
}

function messageOf({ text, message }: TryOptions, networks: readonly Network[]): MessageContent {
  if ((text === undefined) === (message === undefined))
    throw new CliError('usage', 'Give --text or --message')
  const given = text === undefined ? message : { type: 'text', text: { value: text } }
  const parsed = messageSchema(networks, {}).safeParse(given, { error: describeIssue })
  if (!parsed.success)
    throw new CliError(
      'usage',
      `Fix ${text === undefined ? '--message' : '--text'}: ${describeIssues(parsed.error.issues)}`,
    )
  if (parsed.data.type !== 'template') return contentOf(parsed.data)
  throw new CliError(
    'usage',
    '--message has to be a text or a media, since a template is registered with a channel',
  )
}

/** Each secret is replaced by its name: what is printed never had it. */
function withoutSecrets({ form }: CompiledFile, config: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, form.config[name]?.secret ? `<${name}>` : value]),
  )
}

const shownRequest = ({ method = 'POST', url, headers, body }: HttpRequest) => ({
  method,
  url,
  headers,
  body: headers['content-type'] === 'application/json' ? JSON.parse(textOf(body)) : textOf(body),
})

async function send(
  { provider, request }: CompiledFile,
  delivery: FileDelivery,
  allowedPrivateNetworks: readonly Network[],
) {
  const dispatcher = new Agent({
    connect: createGuardedConnector({ allowedPrivateNetworks }),
    maxResponseSize: maxAnswerBytes,
  })
  const { config } = delivery
  const httpCall = provider.call as HttpCall<Record<string, string>>
  const post = (given: HttpRequest) => exchange(given, dispatcher)
  try {
    const { grant, label } = httpCall
    const fetched = grant ? await createAccessTokens(grant, label, post, Date.now).tokenOf(config) : undefined
    if (fetched && 'outcome' in fetched) return { outcome: fetched }
    const answer = await post(
      request(delivery, { ...context, ...(fetched && { accessToken: fetched.token }) }),
    )
    const shown = fetched ? withoutToken(answer, fetched.token) : answer
    return { outcome: outcomeOfAnswer(shown, { call: httpCall, codes: provider.codes }, config) }
  } catch (error) {
    const { code = 'error' } = error as { code?: string }
    throw new CliError(
      'failed',
      `The call failed (${code}): the message may have been sent if the connection was made`,
    )
  } finally {
    await dispatcher.destroy()
  }
}

async function exchange(
  { method = 'POST', url, headers, body }: HttpRequest,
  dispatcher: Agent,
): Promise<HttpAnswer> {
  const given = method === 'GET' ? {} : { body: textOf(body) }
  const signal = AbortSignal.timeout(callMs)
  const answer = await call(url, { method, headers, dispatcher, signal, ...given })
  const text = await answer.body.text()
  const { statusCode: status, headers: answered } = answer
  return { kind: 'answer', status, headers: answered, body: text, isWhole: true, at: Date.now() }
}
