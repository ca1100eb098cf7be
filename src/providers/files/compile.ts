import { createHash } from 'node:crypto'
import type { MediaLimits, TemplateRules } from '../../core/channels/provider.ts'
import { defaultContactType } from '../../core/contacts/contact.ts'
import type { MailFields } from '../../core/messages/mail.ts'
import { type MediaType, messageTypes } from '../../core/messages/message.ts'
import { textTemplate } from '../../core/messages/text-template.ts'
import type { Failure } from '../../core/sends/outcome.ts'
import { defineProvider, type Provider } from '../define-provider.ts'
import type { Delivery } from '../delivery.ts'
import type { CodeTable } from '../shared/code-table.ts'
import type { CallContext, HttpRequest, MessageRefusal } from '../shared/http/http-call.ts'
import { mailTemplate } from '../shared/mail/mail-template.ts'
import { steeringHeaderIssue } from '../shared/mail/steering-headers.ts'
import { checkOwnFields, configSchema } from './config.ts'
import { readDocument } from './document.ts'
import type { ProviderForm } from './form.ts'
import { codeTable, decisionsOf, readByForm } from './reading/answer.ts'
import { compileReceipts } from './reading/receipts.ts'
import { compileRequest, type FileRequest } from './request/build.ts'
import { type FileConfig, textsOfTemplate } from './request/holes.ts'
import { UnfilledHole } from './request/tree.ts'

/** A file that became a provider. */
export interface CompiledFile {
  form: ProviderForm
  /** Tells versions of a file apart: SHA-256 of its text, in hex. */
  hash: string
  provider: Provider<FileConfig>
  /** The request of a message. @throws {UnfilledHole} if the message lacks what it needs; `provider` refuses such a message. */
  request: RequestOf
}

type RequestOf = (delivery: Delivery<FileConfig>, context: CallContext) => HttpRequest

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Compiles a file; or says what is wrong with it, each on one line. */
export function compileFile(text: string): CompiledFile | { issues: string[] } {
  const read = readDocument(text)
  if ('issues' in read) return read
  const issues: string[] = []
  const compiled = compileForm(
    read.form,
    (path, message) => void issues.push(`${read.lineAt(path)}: ${path}: ${message}`),
  )
  return issues.length > 0 ? { issues } : { form: read.form, hash: hashOf(text), ...compiled }
}

function compileForm(
  form: ProviderForm,
  issue: (path: string, message: string) => void,
): Pick<CompiledFile, 'provider' | 'request'> {
  const { contacts, messages, label, what, repeat, suppressing, receipts } = form
  checkOwnFields(form, issue)
  const codes = codeTable(form, issue)
  const request = compileRequest(form, issue)
  const usesReceiptsUrl = request.sources.has('receiptsUrl')
  if (usesReceiptsUrl && !receipts) issue('/request', 'receiptsUrl needs receipts')
  const rules = receipts && compileReceipts(form, receipts, { codes, usesReceiptsUrl }, issue)
  checkSuppressing(form, codes, issue)
  checkCosts(form, issue)
  const media = mediaRules(form, request, issue)
  const isMail = contacts.includes('email')
  const secrets = Object.entries(form.config).flatMap(([name, { secret }]) => (secret ? [name] : []))
  const requestOf: RequestOf = (delivery, context) =>
    request.build(delivery, context, receiptsUrl(delivery, context))
  const provider = defineProvider({
    what,
    contactTypes: contacts,
    messageTypes: messageTypes.filter((type) => messages[type]),
    maxTextCharacters: messages.text.characters,
    sendsSms: form.sms && !isMail,
    ...media,
    ...(isMail && { mail: { issueOf: mailIssue(request) } }),
    onUncertain: repeat ? 'resend' : 'hold',
    template: templateRules(form, request),
    config: configSchema(form),
    shownFields: Object.keys(form.config).filter((name) => !secrets.includes(name)),
    call: {
      label,
      request: orRefusal(requestOf),
      read: readByForm(form, codes),
      ...(request.grant && { grant: request.grant }),
      statuses: statusTable(form, issue),
      secretsOf: (config) => secrets.map((name) => config[name]),
    },
    ...(Object.keys(codes).length > 0 && { codes }),
    ...(receipts?.codes && { otherCodes: receipts.codes }),
    ...(suppressing && { suppressingCodes: suppressing }),
    ...(rules && { receipts: rules }),
  })
  return { provider, request: requestOf }

  /** Where the vendor is to send the receipts of a message; undefined if the channel takes none. */
  function receiptsUrl(
    { config, channelId, requestId }: Delivery<FileConfig>,
    context: CallContext,
  ): string | undefined {
    if (!usesReceiptsUrl || !receipts || !rules?.areOn(config)) return undefined
    const link = context.receiptsLink(channelId, requestId)
    return 'token' in receipts.proof
      ? `${link}&token=${encodeURIComponent(config[receipts.proof.token] ?? '')}`
      : link
  }
}

/** A message that lacks what the request needs is refused: a worker that knew nothing of it would take it for uncertain. */
const orRefusal =
  (requestOf: RequestOf) =>
  (...given: Parameters<RequestOf>): HttpRequest | MessageRefusal => {
    try {
      return requestOf(...given)
    } catch (error) {
      if (!(error instanceof UnfilledHole)) throw error
      return { outcome: 'rejected', fault: 'message', reason: error.reason }
    }
  }

/** Texts and mails. One that would be empty is refused at its accept; a mail may have HTML alone, unless the request needs a text. */
function templateRules(
  { contacts: [contactType = defaultContactType] }: ProviderForm,
  request: FileRequest,
): TemplateRules {
  const rules = contactType === 'email' ? mailTemplate : { ...textTemplate, unregisteredIssue }
  const needsText = request.needsText('template')
  return {
    ...rules,
    filledIssue(definition, variables) {
      const { text, html }: { text?: string | undefined; html?: string | undefined } = textsOfTemplate(
        contactType,
        definition,
        variables,
      )
      return text?.trim() || (html?.trim() && !needsText)
        ? undefined
        : 'the text of the message would be empty'
    },
  }
}

/** What a client says of a mail is refused where the file has no place for it, but tags: they are only for statistics. */
const mailIssue =
  ({ sources, mailHeaders }: FileRequest) =>
  (fields: MailFields): string | undefined => {
    const placeOf = {
      subject: ['subject'],
      html: ['html'],
      fromName: ['from', 'fromName'],
      replyTo: ['replyTo'],
      headers: ['headers'],
      attachments: ['file.base64', 'file.content'],
    } satisfies Record<Exclude<keyof MailFields, 'tags'>, string[]>
    const unknown = Object.entries(placeOf).find(
      ([name, places]) =>
        fields[name as keyof MailFields] !== undefined && !places.some((place: string) => sources.has(place)),
    )
    if (unknown) return `email.${unknown[0]}: not on this channel`
    const inline = fields.attachments?.findIndex(({ contentId }) => contentId !== undefined) ?? -1
    if (inline >= 0 && !sources.has('file.contentId'))
      return `email.attachments[${inline}].contentId: not on this channel`
    const own = Object.keys(fields.headers ?? {}).find((name) => mailHeaders.has(name.toLowerCase()))
    return own ? `email.headers.${own}: is set by the channel; leave it out` : steeringHeaderIssue(fields)
  }

/** A text that only the vendor knows can't be sent by a name. */
const unregisteredIssue = () => 'is not registered with this channel; register it with outbound template set'

type Issue = (path: string, message: string) => void

function mediaRules({ messages: { media } }: ProviderForm, { sources }: FileRequest, issue: Issue) {
  const holes = ['file.base64', 'file.content']
  const hasFiles = holes.some((hole) => sources.has(hole))
  if (!media) return hasFiles ? ({ takesContent: true } as const) : {}
  const isByLink = sources.has('media.url')
  if (!isByLink && !hasFiles && !sources.has('media.base64'))
    issue(
      '/messages/media',
      'the request has no hole for media: add media.url or media.base64, or $each of files',
    )
  const limits = Object.entries(media).map(([type, { types, maxMiB, caption }]): [string, MediaLimits] => [
    type,
    {
      hasCaption: caption,
      ...(types && { mimetypes: types }),
      ...(maxMiB !== undefined && { maxBytes: maxMiB * 1024 * 1024 }),
    },
  ])
  return {
    media: Object.fromEntries(limits) as Record<MediaType, MediaLimits>,
    ...(isByLink ? ({ fetchesMedia: true } as const) : ({ takesContent: true } as const)),
  }
}

/** The statuses that decide otherwise than at most vendors. */
function statusTable({ answer }: ProviderForm, issue: Issue): Record<number, Failure> {
  return Object.fromEntries(
    decisionsOf(answer.statuses ?? {}).map(([status, { meaning: _, ...failure }]) => {
      const path = `/answer/statuses/${failure.outcome}/${failure.fault}/${status}`
      if (!/^[3-5]\d\d$/.test(status)) issue(path, 'has to be a status from 300 to 599')
      if (failure.outcome === 'uncertain') issue(path, 'a status is never uncertain: an answer came')
      return [status, failure as Failure]
    }),
  )
}

/** A cost counts once for each message, which the vendor's id tells apart. */
function checkCosts({ answer, receipts }: ProviderForm, issue: Issue): void {
  for (const [name, places] of Object.entries({ answer, receipts }))
    if (places?.cost?.amountOfPart && !places.parts)
      issue(`/${name}/cost/amountOfPart`, 'needs parts beside cost')
  if (answer.cost && receipts?.cost && !(answer.id && receipts.id))
    issue('/receipts/cost', 'stands in answer too: both need id, so that no message counts twice')
}

function checkSuppressing(
  { suppressing = {}, receipts }: ProviderForm,
  codes: CodeTable,
  issue: Issue,
): void {
  for (const code of Object.keys(suppressing)) {
    if (!Object.hasOwn(codes, code) && !Object.hasOwn(receipts?.codes ?? {}, code))
      issue(`/suppressing/${code}`, 'no code of this name: add it to the codes of answers or receipts')
  }
  for (const code of Object.keys(receipts?.codes ?? {})) {
    if (Object.hasOwn(codes, code))
      issue(`/receipts/codes/${code}`, 'this code stands twice: it is among those of answers')
  }
}
