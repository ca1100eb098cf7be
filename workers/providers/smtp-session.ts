import { Readable } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { domainOf, parseMailbox } from '../../src/core/contacts/mailbox.ts'
import { isAllowedPrivate, isLoopback, type Network } from '../../src/core/requests/public-address.ts'
import type { OwnShortage } from '../../src/core/sends/own-shortage.ts'
import { connectionShortage, lookUpError } from '../../src/platform/process/own-shortage.ts'
import type { SmtpConfig } from '../../src/providers/smtp/config.ts'
import type { Mail } from '../../src/providers/smtp/mail.ts'
import type { SmtpResult, Step } from '../../src/providers/smtp/session-result.ts'
import type { Moved } from '../http/time-limit.ts'
import { leave, type OpenConnection, type SmtpConnections } from './smtp-connections.ts'

type SmtpError = SMTPConnection.SMTPError

export interface Session {
  config: SmtpConfig
  /** Further TLS options, such as additional trusted CAs. */
  tls: ConnectionOptions
  connections: SmtpConnections
  /** Where mails may go in clear, if the config doesn't say. */
  allowedPrivateNetworks: readonly Network[]
}

/**
 * Sends one mail, once. It uses nodemailer's connection instead of its transports: those don't report whether content was sent
 * before a connection was lost, skip the login if the server doesn't offer it, and the pooled one resends by itself.
 *
 * A kept connection saves greeting, TLS and login. Its replies before it has asked for the content may be about the
 * connection, such as the end of its time or of its mails. So the mail is then sent over a new one, which has the last word.
 */
export async function sendMail(
  mail: Mail,
  session: Session,
  signal: AbortSignal,
  moved: Moved = () => {},
): Promise<SmtpResult> {
  const { config, tls, connections } = session
  const kept = signal.aborted ? undefined : connections.take(config)
  if (kept) {
    const { result, reached } = await sendOver(kept, { mail, session, signal, moved })
    if (!isOfConnection(result, reached) || signal.aborted) return result
  }
  const watcher = { onError: () => {}, onEnd: () => {} }
  const fresh = { connection: new SMTPConnection(optionsOf(config, tls)), mails: 0, watcher }
  return (await sendOver(fresh, { mail, session, signal, moved })).result
}

/** Whether a failure on a kept connection may be the connection's, while the server surely has nothing of the mail. */
function isOfConnection(result: SmtpResult, reached: Reached): boolean {
  if (reached === 'content') return false
  if (result.kind === 'not_sent') return true
  return result.kind === 'refused' && (result.step === 'sender' || /^421[ -]/.test(result.reply))
}

/** Sends the mail over the connection, which is opened first if it is new, and kept if the server accepts the mail. */
function sendOver(
  open: OpenConnection,
  { mail, session, signal, moved }: { mail: Mail; session: Session; signal: AbortSignal; moved: Moved },
): Promise<{ result: SmtpResult; reached: Reached }> {
  return new Promise((resolve) => {
    const { connection } = open
    const { config, connections } = session
    let isOver = false
    let reached: Reached = 'connection'

    const end = (result: SmtpResult) => {
      if (isOver) return
      isOver = true
      signal.removeEventListener('abort', giveUp)
      release(open, result, reached, () => connections.keep(config, open))
      resolve({ result, reached })
    }
    const fail = (error: SmtpError) => end(resultOf(error, reached))
    const giveUp = () =>
      end(lost(reached === 'content' ? 'no answer in time' : 'no connection in time', reached))
    const send = () => {
      reached = 'recipient'
      const content = contentOf(mail, () => (reached = 'content'), moved)
      const envelope = { from: mail.from, to: [mail.to], size: mail.minBytes, ...reportsOn(mail) }
      connection.send(envelope, content, (error, info) => {
        if (error) return fail(error)
        open.mails++
        end({ kind: 'taken', reply: info.response, messageId: info.serverMessageId })
      })
    }

    if (signal.aborted) return giveUp()
    signal.addEventListener('abort', giveUp)
    open.watcher = {
      onError: fail,
      // The connection may end without an error, or with an error event right after.
      onEnd: () => queueMicrotask(() => end(lost('the connection was lost', reached))),
    }
    if (open.mails > 0) return send()
    connection.on('error', (error) => open.watcher.onError(error))
    connection.on('end', () => open.watcher.onEnd())
    connection.connect((error) => {
      if (error) return fail(error)
      const reason = clearTextIssue(connection, session)
      if (reason !== undefined) return end({ kind: 'no_tls', reason })
      logIn(connection, config, fail, send)
    })
  })
}

/** Asks for reports on the mail (RFC 3461), of servers that offer to make them. */
function reportsOn({ envelopeId }: Mail): { dsn?: SMTPConnection.DSNOptions } {
  if (envelopeId === undefined) return {}
  return { dsn: { id: envelopeId, return: 'headers', notify: ['success', 'failure'] } }
}

/** How far a session came: `recipient` from the first command of the envelope on, `content` from the first byte of it on. */
type Reached = 'connection' | 'recipient' | 'content'

/**
 * Why nothing may be said over a connection without TLS: somebody in between may have left STARTTLS out of the server's answer.
 * It is asked of the connection, since a name may lead to any address.
 */
function clearTextIssue(connection: SMTPConnection, session: Session): string | undefined {
  const { config, allowedPrivateNetworks } = session
  const isLocal = isLoopback(config.host)
  if (connection.secure) return undefined
  if (config.user !== undefined && !isLocal)
    return 'the server offers no TLS, and a login is never sent without; let it offer STARTTLS'
  const address = connection._socket ? connection._socket.remoteAddress : undefined
  const isInside = isLocal || (address !== undefined && isAllowedPrivate(address, allowedPrivateNetworks))
  return (config.requireTls ?? !isInside)
    ? 'the server offers no TLS; let it offer STARTTLS, or set requireTls to false in the config to send in clear'
    : undefined
}

function logIn(
  connection: SMTPConnection,
  { user, pass }: SmtpConfig,
  fail: (error: SmtpError) => void,
  next: () => void,
): void {
  if (user === undefined) next()
  else connection.login({ user, pass }, (refusal) => (refusal ? fail(refusal) : next()))
}

/** nodemailer reads it when the server has agreed to receive the content, not before. */
function contentOf(mail: Mail, onBegin: () => void, moved: Moved): Readable {
  async function* read() {
    onBegin()
    for await (const piece of mail.read()) {
      yield piece
      moved(piece.length)
    }
  }
  return Readable.from(read(), { objectMode: false })
}

function release(open: OpenConnection, { kind }: SmtpResult, reached: Reached, keep: () => void): void {
  if (kind === 'taken') keep()
  // Within the content, a QUIT would be read as content.
  else if (kind === 'refused' && reached !== 'content') leave(open)
  else drop(open)
}

function drop({ connection }: OpenConnection): void {
  if (connection._socket) connection._socket.destroy()
  connection.close()
}

const maxReplyBytes = 8 * 1024

function optionsOf({ host, port, secure, from, name }: SmtpConfig, tls: ConnectionOptions) {
  const isLocal = isLoopback(host)
  return {
    host,
    port,
    secure,
    // A machine without a domain would greet as [127.0.0.1], which large relays refuse.
    name: name ?? domainOf(parseMailbox(from)?.address ?? ''),
    // Some servers require STARTTLS even from this machine, where certificates are seldom valid.
    tls: isLocal ? { ...tls, rejectUnauthorized: false } : tls,
    maxResponseSize: maxReplyBytes,
  }
}

const steps: Record<string, Step> = {
  STARTTLS: 'tls',
  'MAIL FROM': 'sender',
  'RCPT TO': 'recipient',
  DATA: 'content',
}

/** The result of an error. After content was sent, only a reply of the server says whether the mail was accepted. */
function resultOf(error: SmtpError, reached: Reached): SmtpResult {
  const { code, originalCode = code, response: reply, command = '' } = error
  if (reply && /^[45]\d\d([ -]|$)/.test(reply)) {
    // Some replies are unsolicited, to no command.
    return {
      kind: 'refused',
      step: command.startsWith('AUTH') ? 'login' : (steps[command] ?? reached),
      reply,
    }
  }
  if (reached === 'recipient' && code === 'EMESSAGE') return { kind: 'too_large' }
  if (reached === 'connection' && code === 'EAUTH')
    return { kind: 'no_login', reason: 'the server offers no login method that this service supports' }
  if (reached === 'connection' && isNoTls.test(originalCode ?? ''))
    return { kind: 'no_tls', reason: `no TLS connection (${originalCode})` }
  const shortage = reached === 'connection' && shortageOf(error)
  return shortage ? { kind: 'not_called', shortage } : lost(describe(error), reached)
}

/** nodemailer keeps the code of the system as the original one. */
function shortageOf({ code, originalCode = code }: SmtpError): OwnShortage | undefined {
  const cause = { code: originalCode }
  return connectionShortage(code === 'EDNS' ? lookUpError(cause) : cause)
}

function lost(reason: string, reached: Reached): SmtpResult {
  return { kind: reached === 'content' ? 'maybe_sent' : 'not_sent', reason }
}

const isNoTls = /^(EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|UNABLE_TO_|DEPTH_ZERO_)/

const reasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  EDNS: 'the host name could not be looked up',
  ENOTFOUND: 'the host name does not exist',
  ETIMEDOUT: 'no answer in time',
  ECONNECTION: 'the connection was lost',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  ETLS: 'the connection was lost',
  EPROTOCOL: 'the answer is not SMTP',
  EENVELOPE: 'the answer neither accepts nor refuses the mail',
  EMESSAGE: 'the answer neither accepts nor refuses the mail',
}

function describe({ code = '', originalCode = code }: SmtpError): string {
  return reasons[originalCode] ?? reasons[code] ?? `the connection failed (${originalCode})`
}
