import type { Command } from 'commander'
import { findChannel, findOwnChannels } from '../../db/accounts/channels.ts'
import { findTemplate } from '../../db/accounts/templates.ts'
import type { NewSend } from '../../db/admission/new-send.ts'
import type { Contact } from '../core/contacts/contact.ts'
import { clock } from '../core/explanation/phrases.ts'
import { type SmsSize, smsSizeOf } from '../core/messages/segments.ts'
import { withDefinition } from '../core/messages/template.ts'
import { describeIssue, describeIssues } from '../core/requests/issues.ts'
import { newId } from '../core/requests/new-id.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import type { FallbackCause } from '../core/sends/fallback.ts'
import { sendAtIssue } from '../core/sends/send-at.ts'
import { sendIssue } from '../core/sends/send-issue.ts'
import { type SendRequest, sendRequestSchemas } from '../core/sends/send-request.ts'
import { createLogger } from '../platform/log/logger.ts'
import { channelRules } from '../sends/channel-rules.ts'
import { createDryRun, type DryRun, waitNames } from '../sends/dry-run.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { contact } from './arguments.ts'
import { givenJson } from './given-json.ts'

interface ExplainOptions {
  channel: string
  to: Pick<Contact, 'type' | 'value'>
  text?: string
  template?: string
  variables?: unknown
  at?: string
  priority?: string
}

type Explained = DryRun & Partial<SmsSize>

/** Prints what a worker would do with a message, as `?dryRun=true` answers it. */
export function explainCommand(program: Command, answer: Answerer): void {
  program
    .command('explain')
    .requiredOption('--channel <id>', 'the channel')
    .requiredOption('--to <contact>', 'the contact', contact)
    .option('--text <text>', 'the text; default: a short one')
    .option('--template <name>', 'or a template')
    .option(
      '--variables <json>',
      'its variables, as @FILE, - for stdin, or JSON such as {"name":"Ann"}',
      givenJson('--variables'),
    )
    .option('--at <time>', 'when it is to be sent, with an offset, such as 2026-11-24T09:00:00+01:00')
    .option('--priority <priority>', 'urgent, normal or bulk')
    .action((options: ExplainOptions, command: Command) =>
      answer(command, (context) => explain(context, options), inWords),
    )
}

async function explain(context: CliContext, options: ExplainOptions): Promise<Explained> {
  const { db, setting } = context
  const request = requestOf(options, context)
  const { sendAt } = request
  const timeIssue = sendAt && sendAtIssue(sendAt, Date.now(), setting('SCHEDULE_MAX_DAYS'))
  if (timeIssue) throw new CliError('usage', `Fix --at: ${timeIssue}`)
  const runtime = {
    ...{ db, log: createLogger('silent') },
    settings: {
      CREDENTIALS_KEY: setting('CREDENTIALS_KEY'),
      CREDENTIALS_KEY_PREVIOUS: setting('CREDENTIALS_KEY_PREVIOUS'),
      API_KEY_PEPPER: setting('API_KEY_PEPPER'),
      PUBLIC_BASE_URL: setting('PUBLIC_BASE_URL'),
      PROVIDER_TIMEOUT_SECONDS: setting('PROVIDER_TIMEOUT_SECONDS'),
    },
  }
  const { send, sms } = await sendOf(runtime, options.channel, request)
  const [found] = (await createDryRun(runtime)([send])) ?? []
  if (!found) throw new CliError('failed', 'PostgreSQL took too long; run the command again')
  return { ...found, ...sms }
}

/** The body that a client would post, held to the same schema. */
function requestOf(
  { to, text, template, variables, at, priority }: ExplainOptions,
  { setting }: CliContext,
): SendRequest {
  if (text !== undefined && template !== undefined)
    throw new CliError('usage', 'Use --text or --template, not both')
  const given = Object.entries(variables ?? {}).map(([key, value]) => ({ key, value }))
  const message =
    template === undefined
      ? { type: 'text', text: { value: text ?? 'Hello' } }
      : { type: 'template', template: { name: template, variables: given } }
  const body = {
    contact: to,
    ...{ message, sendAt: at, priority },
  }
  const schema = sendRequestSchemas(setting('CLIENT_PRIVATE_NETWORKS')).channelInPath
  const { success, data, error } = schema.safeParse(body, { error: describeIssue })
  if (success) return data
  throw new CliError('usage', `Fix the message: ${describeIssues(error.issues)}`)
}

/** The send as an accept would record it. @throws CliError with the words of the 400 if it would be refused. */
async function sendOf(
  runtime: Pick<CliContext, 'db'> &
    Parameters<typeof channelRules>[0] & { settings: { PUBLIC_BASE_URL?: string | undefined } },
  channelId: string,
  request: SendRequest,
): Promise<{ send: NewSend; sms: SmsSize | undefined }> {
  const { db, settings } = runtime
  const { accountId } = (canBeRecordId(channelId) && (await findChannel(db, channelId))) || {}
  const [channel] = accountId === undefined ? [] : await findOwnChannels(db, [{ channelId, accountId }])
  if (!channel || accountId === undefined)
    throw new CliError(
      'not_found',
      `No channel ${channelId}; see them with: outbound channel list --account ID`,
    )
  const rules = channelRules(runtime)(channel)
  const { mediaContent: _media, channelId: _channel, ...fields } = request
  const hasPublicUrl = settings.PUBLIC_BASE_URL !== undefined
  const issue = sendIssue(rules, { ...request, countries: channel.countries, hasPublicUrl })
  if (issue) throw new CliError('refused', `It would be refused with a 400: ${issue}`)
  const message =
    request.message.type === 'template'
      ? withDefinition(
          rules.template,
          request.message,
          await findTemplate(db, channelId, request.message.template.name),
        )
      : request.message
  if ('issue' in message) throw new CliError('refused', `It would be refused with a 400: ${message.issue}`)
  const sms = smsSizeOf(rules, request.contact, message)
  const send = {
    ...{ requestId: newId(), accountId, channelId, apiKeyId: null, ordering: channel.ordering },
    ...{ expireAfterSeconds: channel.expireAfterSeconds ?? undefined, idempotency: undefined },
    ...{ recordBy: new Date(Date.now() + recordWithinMs), ...sms, ...fields, message },
  }
  return { send, sms }
}

const recordWithinMs = 60_000

const ends: Record<FallbackCause, string> = { failed: 'fails', undelivered: 'is reported as undelivered' }

function inWords({
  wouldSend,
  reason,
  dueAt,
  waitsFor,
  channelId,
  fallbacks,
  suppressed,
  segments,
  encoding,
}: Explained): string {
  const now = new Date()
  const waits = waitsFor.map(
    ({ reason: name, until }) =>
      `It waits for ${waitNames[name]}${until ? `, until ${clock(until, now)}` : ''}.`,
  )
  const first = wouldSend
    ? waits.length === 0
      ? `It would be sent now, by the channel ${channelId}.`
      : `It would be sent by the channel ${channelId}, not before ${clock(dueAt ?? now, now)}.`
    : `It would not be sent: ${reason}.`
  return [
    first,
    ...waits,
    ...(suppressed && wouldSend ? ['Its contact is suppressed on the channel that was given.'] : []),
    ...fallbacks.map(({ channelId: id, on, withinSeconds, issue }) =>
      issue === null
        ? `If it ${on.map((cause) => ends[cause]).join(' or ')}, it goes on by the channel ${id}, within ${withinSeconds} s.`
        : `The channel ${id}, its fallback, could not send it: ${issue}.`,
    ),
    ...(segments
      ? [`As SMS it takes ${segments === 1 ? '1 segment' : `${segments} segments`} in ${encoding}.`]
      : []),
  ].join('\n')
}
