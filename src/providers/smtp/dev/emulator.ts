import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerOptions } from 'smtp-server'
import type { Emulator } from '../../shared/dev/emulator.ts'
import { parseMail } from './mail-part.ts'
import { createMailReports } from './reports.ts'
import { emptyCall, openSessions, type SmtpAnswer, type SmtpCall, type SmtpStep } from './sessions.ts'

export type { SmtpAnswer, SmtpCall, SmtpStep } from './sessions.ts'

interface SmtpOptions extends SMTPServerOptions {
  /** Whether its channel asks for reports. */
  isReporting?: boolean
}

export interface SmtpEmulator extends Emulator<SmtpCall, SmtpAnswer> {
  config: {
    host: string
    port: number
    secure: boolean
    user: string
    pass: string
    from: string
    bounceToken?: string
  }
  /** The number of open sessions. */
  open(): number
}

const [user, pass] = ['outbound', 'emulated password']
const bounceToken = 'emulated-bounce-token'
const usualOptions: SMTPServerOptions = {
  allowInsecureAuth: true,
  disableReverseLookup: true,
  hideDSN: false,
}

/**
 * Replies of RFC 5321 (https://www.rfc-editor.org/rfc/rfc5321#section-4.2.3), for the login of RFC 4954
 * (https://www.rfc-editor.org/rfc/rfc4954#section-6), with the enhanced status codes of RFC 3463
 * (https://www.rfc-editor.org/rfc/rfc3463#section-3).
 */
const replies = {
  wrongLogin: '535 5.7.8 Authentication credentials invalid',
  unknown: '550 5.1.1 Requested action not taken: mailbox unavailable',
  full: '452 4.2.2 Requested action not taken: insufficient system storage',
}

/** By the local part of the recipient. */
const refusals: Record<string, string> = { unknown: replies.unknown, full: replies.full }

/**
 * Starts a mail server that records all mails. It accepts one user, and every recipient except `unknown@…`, which doesn't
 * exist, and `full@…`, whose mailbox is full. Mails to `bounces@…` are reported as failed after they were accepted.
 */
export async function openSmtpEmulator(options: SmtpOptions = {}): Promise<SmtpEmulator> {
  const reports = createMailReports(bounceToken)
  const calls: SmtpCall[] = []
  const { begin, callOf, answerAt, answerNext } = openSessions(calls)

  const connectionOf = (id: string) => [...server.connections].find((connection) => connection.id === id)
  /** Gives the answer that was set for this step. @returns whether one was set. */
  const diverts = (id: string, step: SmtpStep): boolean => {
    const answer = answerAt(id, step)
    if (!answer) return false
    const connection = connectionOf(id)
    if (answer.reply === 'drop') connection?._socket.destroy()
    else if (connection && answer.reply !== 'hang') write(connection, answer)
    return true
  }
  const server: SMTPServer = new PromptServer({
    disabledCommands: options.cert ? [] : ['STARTTLS'],
    ...usualOptions,
    ...options,
    onConnect({ id, secure }, next) {
      begin(id, emptyCall(secure))
      const connection = connectionOf(id)
      if (connection) divert(connection, (step) => diverts(id, step))
      if (diverts(id, 'connect')) connection?._socket.end()
      else next()
    },
    onAuth(given, { id, secure }, next) {
      if (given.username !== user || given.password !== pass) return next(failure(replies.wrongLogin))
      Object.assign(callOf(id) ?? {}, { user, isSecure: secure })
      next(null, { user })
    },
    onMailFrom({ address, args }, { id, secure, hostNameAppearsAs: name }, next) {
      const envelope = { from: address, envelopeId: args ? (args.ENVID ?? null) : null }
      Object.assign(callOf(id) ?? {}, { name, ...envelope, isSecure: secure })
      next()
    },
    onRcptTo({ address, dsn }, { id }, next) {
      callOf(id)?.to.push(address)
      callOf(id)?.notify.push(...(dsn?.notify ?? []))
      const refusal = refusals[address.split('@')[0] ?? '']
      next(refusal === undefined ? null : failure(refusal))
    },
    async onData(stream, { id }, next) {
      const call = callOf(id)
      const raw = await read(stream, () => diverts(id, 'content'))
      if (!raw || !call) return
      Object.assign(call, { raw, mail: parseMail(raw) })
      if (diverts(id, 'end')) return
      take(call, raw, reports)
      next()
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    config: configAt(port, options),
    calls,
    answerNext,
    open: () => server.connections.size,
    reportTo: reports.reportTo,
    async stop() {
      reports.stop()
      for (const { _socket } of server.connections) _socket.destroy()
      await new Promise<void>((resolve) => server.close(resolve))
    },
  }
}

function take(call: SmtpCall, raw: Buffer, reports: ReturnType<typeof createMailReports>): void {
  call.isTaken = true
  if (call.notify.length > 0) reports.report(call, raw)
}

function configAt(port: number, { isReporting }: SmtpOptions): SmtpEmulator['config'] {
  const server = { host: '127.0.0.1', port, secure: false }
  const from = 'Outbound <outbound@example.org>'
  return { ...server, user, pass, from, ...(isReporting && { bounceToken }) }
}

/** Greets at once: without this, a server waits 100 ms for clients that talk too soon. */
class PromptServer extends SMTPServer {
  override connect(...given: Parameters<SMTPServer['connect']>): void {
    super.connect(...given)
    const connection = [...this.connections].at(-1)
    connection?.connectionReady()
    // The timer of that wait calls it, too.
    if (connection) connection.connectionReady = () => {}
  }
}

type Connection = SMTPServer['connections'] extends Set<infer Item> ? Item : never

/** Wraps the handlers of the commands, because the server has hooks for only some of them. */
function divert(connection: Connection, diverts: (step: SmtpStep) => boolean): void {
  for (const step of ['EHLO', 'STARTTLS', 'AUTH', 'MAIL', 'RCPT', 'DATA'] as const) {
    const name = `handler_${step}` as const
    const handle = connection[name].bind(connection)
    connection[name] = (command, done) => {
      if (diverts(step)) done()
      else handle(command, done)
    }
  }
}

function write({ _socket: socket }: Connection, { reply, isCutOff }: SmtpAnswer): void {
  socket.write(reply.replaceAll('\n', '\r\n') + (isCutOff ? '' : '\r\n'))
  // After a 421 the server closes the connection (RFC 5321, 4.2.3).
  if (isCutOff || reply.startsWith('421')) socket.end()
}

/** @returns undefined if the client disconnected; never returns if an answer is set for this step. */
async function read(stream: SMTPServerDataStream, diverts: () => boolean): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of stream) {
      // Stops reading.
      if (chunks.length === 0 && diverts()) await new Promise(() => {})
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch {
    return undefined
  }
}

function failure(reply: string): Error {
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) })
}
