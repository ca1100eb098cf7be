import { Readable } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { isLoopback, type SmtpConfig } from '../../src/core/providers/smtp.ts'
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
): Promise<SmtpResult> {
  return new Promise((resolve) => {
    const connection = new SMTPConnection(optionsOf(config, tls))
    let isOver = false
    let hasBegun = false

    const end = (result: SmtpResult) => {
      if (isOver) return
      isOver = true
      signal.removeEventListener('abort', giveUp)
      // A QUIT within the content would be taken for a part of it.
      if (result.kind === 'taken' || (result.kind === 'refused' && !hasBegun)) connection.quit()
      else if (connection._socket) connection._socket.destroy()
      connection.close()
      resolve(result)
    }
    const lose = (reason: string) => end({ kind: hasBegun ? 'maybe_sent' : 'not_sent', reason })
    const giveUp = () => lose(hasBegun ? 'no answer in time' : 'no connection in time')
    const fail = (error: SmtpError) => {
      const told = resultOf(error)
      if (told) end(told)
      else lose(describe(error))
    }
    const send = () => {
      // Read once the server has said that it takes the content, and not before.
      const content = Readable.from(
        beginning(mail, () => (hasBegun = true)),
        { objectMode: false },
      )
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
    connection.on('end', () => queueMicrotask(() => lose('the connection was lost')))
    connection.connect((error) => {
      const { user, pass } = config
      if (error) fail(error)
      else if (user === undefined) send()
      else connection.login({ user, pass }, (refusal) => (refusal ? fail(refusal) : send()))
    })
  })
}

async function* beginning(mail: Mail, onBegin: () => void) {
  onBegin()
  yield* mail.read()
}

function optionsOf({ host, port, secure, user }: SmtpConfig, tls: ConnectionOptions) {
  const isLocal = isLoopback(host)
  return {
    host,
    port,
    secure,
    // Credentials never go in the clear, but within this machine, where certificates are seldom good.
    requireTLS: !secure && user !== undefined && !isLocal,
    ignoreTLS: isLocal,
    tls,
  }
}

const steps: Record<string, Step> = {
  STARTTLS: 'tls',
  'MAIL FROM': 'sender',
  'RCPT TO': 'recipient',
  DATA: 'content',
}

/** What the error tells by itself, wherever it came; undefined where it is a matter of whether the content was begun. */
function resultOf(error: SmtpError): SmtpResult | undefined {
  const { code, originalCode = code, response: reply, command = '' } = error
  if (reply && /^[45]\d\d/.test(reply)) {
    return {
      kind: 'refused',
      step: command.startsWith('AUTH') ? 'login' : (steps[command] ?? 'connection'),
      reply,
    }
  }
  if (code === 'EAUTH')
    return { kind: 'no_login', reason: 'the server offers no login that this service knows' }
  if (code === 'EMESSAGE') return { kind: 'too_large' }
  if (isNoTls.test(originalCode ?? ''))
    return { kind: 'no_tls', reason: `no TLS connection (${originalCode})` }
  return undefined
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
}

function describe({ code = '', originalCode = code }: SmtpError): string {
  return reasons[originalCode] ?? reasons[code] ?? `the connection failed (${originalCode})`
}
