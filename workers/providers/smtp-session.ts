import { Readable } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { domainOf, parseMailbox, type SmtpConfig } from '../../src/core/providers/smtp.ts'
import { isLoopback } from '../../src/core/public-address.ts'
import type { Moved } from '../sends/time-limit.ts'
import type { Mail } from './smtp-mail.ts'

/** At what the server refused. */
export type Step = 'connection' | 'tls' | 'login' | 'sender' | 'recipient' | 'content'

/**
 * What became of a mail. `refused`: the server said so, in its own words. `no_tls`: what it needs isn't offered, or the
 * certificate doesn't hold. `not_sent`: the content wasn't begun. `maybe_sent`: it was, and no answer came.
 */
export type SmtpResult =
  | { kind: 'taken'; reply: string; messageId: string | undefined }
  | { kind: 'refused'; step: Step; reply: string }
  | { kind: 'too_large' }
  | { kind: 'no_login' | 'no_tls'; reason: string }
  | { kind: 'not_sent' | 'maybe_sent'; reason: string }

type SmtpError = SMTPConnection.SMTPError

/**
 * Hands one mail to the server, over a connection of its own, and never twice. It stands on nodemailer's connection
 * and not on its transports: these don't tell whether the content was begun when a connection was lost, leave out the
 * login where the server doesn't offer one, and the one that keeps connections sends again by itself.
 */
export function sendMail(
  mail: Mail,
  config: SmtpConfig,
  tls: ConnectionOptions,
  signal: AbortSignal,
  moved: Moved = () => {},
): Promise<SmtpResult> {
  return new Promise((resolve) => {
    const connection = new SMTPConnection(optionsOf(config, tls))
    let isOver = false
    let reached: Reached = 'connection'

    const end = (result: SmtpResult) => {
      if (isOver) return
      isOver = true
      signal.removeEventListener('abort', giveUp)
      leave(connection, result, reached)
      resolve(result)
    }
    const fail = (error: SmtpError) => end(resultOf(error, reached))
    const giveUp = () =>
      end(lost(reached === 'content' ? 'no answer in time' : 'no connection in time', reached))
    const send = () => {
      reached = 'recipient'
      const content = contentOf(mail, () => (reached = 'content'), moved)
      const envelope = { from: mail.from, to: [mail.to], size: mail.minBytes }
      connection.send(envelope, content, (error, info) => {
        if (error) fail(error)
        else end({ kind: 'taken', reply: info.response, messageId: info.serverMessageId })
      })
    }

    if (signal.aborted) return giveUp()
    signal.addEventListener('abort', giveUp)
    connection.on('error', fail)
    // Some ends come without an error, and some with one that is told only right after.
    connection.on('end', () => queueMicrotask(() => end(lost('the connection was lost', reached))))
    connection.connect((error) => (error ? fail(error) : logIn(connection, config, fail, send)))
  })
}

/** How far a session came: from the first command of the envelope on, and from the first byte of the content on. */
type Reached = 'connection' | 'recipient' | 'content'

function logIn(
  connection: SMTPConnection,
  { user, pass }: SmtpConfig,
  fail: (error: SmtpError) => void,
  next: () => void,
): void {
  if (user === undefined) next()
  else connection.login({ user, pass }, (refusal) => (refusal ? fail(refusal) : next()))
}

/** Read once the server has said that it takes the content, and not before. */
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

function leave(connection: SMTPConnection, { kind }: SmtpResult, reached: Reached): void {
  // A QUIT within the content would be taken for a part of it.
  if (kind === 'taken' || (kind === 'refused' && reached !== 'content')) connection.quit()
  else if (connection._socket) connection._socket.destroy()
  connection.close()
}

const maxReplyBytes = 8 * 1024

function optionsOf({ host, port, secure, user, from, name }: SmtpConfig, tls: ConnectionOptions) {
  const isLocal = isLoopback(host)
  return {
    host,
    port,
    secure,
    // Large relays refuse a client that greets them as [127.0.0.1], as a machine without a domain would by itself.
    name: name ?? domainOf(parseMailbox(from)?.address ?? ''),
    // Credentials never go in the clear, but within this machine.
    requireTLS: !secure && user !== undefined && !isLocal,
    // Some servers take nothing without STARTTLS, not even within this machine, where certificates are seldom good.
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

/** What the error tells. Once the content has begun, only the server's own yes or no tells what became of it. */
function resultOf(error: SmtpError, reached: Reached): SmtpResult {
  const { code, originalCode = code, response: reply, command = '' } = error
  if (reply && /^[45]\d\d([ -]|$)/.test(reply)) {
    // Some replies come by themselves, to no command.
    return {
      kind: 'refused',
      step: command.startsWith('AUTH') ? 'login' : (steps[command] ?? reached),
      reply,
    }
  }
  if (reached === 'recipient' && code === 'EMESSAGE') return { kind: 'too_large' }
  if (reached === 'connection' && code === 'EAUTH')
    return { kind: 'no_login', reason: 'the server offers no login that this service knows' }
  if (reached === 'connection' && isNoTls.test(originalCode ?? ''))
    return { kind: 'no_tls', reason: `no TLS connection (${originalCode})` }
  return lost(describe(error), reached)
}

function lost(reason: string, reached: Reached): SmtpResult {
  return { kind: reached === 'content' ? 'maybe_sent' : 'not_sent', reason }
}

const isNoTls = /^(EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|UNABLE_TO_|DEPTH_ZERO_)/

const reasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  EDNS: 'the name of the host could not be looked up',
  ENOTFOUND: 'the name of the host is not known',
  ETIMEDOUT: 'no answer in time',
  ECONNECTION: 'the connection was lost',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  ETLS: 'the connection was lost',
  EPROTOCOL: 'the answer is not SMTP',
  EENVELOPE: 'the answer is neither yes nor no',
  EMESSAGE: 'the answer is neither yes nor no',
}

function describe({ code = '', originalCode = code }: SmtpError): string {
  return reasons[originalCode] ?? reasons[code] ?? `the connection failed (${originalCode})`
}
