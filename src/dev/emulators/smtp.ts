import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerOptions } from 'smtp-server'
import { type Emulator, keep } from './emulator.ts'
import { type MailPart, parseMail } from './mail-part.ts'

/** Where a session may go wrong; `content` once the first of it has come, `end` when all has. */
export type SmtpStep = 'connect' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'content' | 'end'

/** A reply, its lines parted by line breaks, e.g. `451 4.3.0 Try again later`; or none. It is said as it is, SMTP or not. */
export interface SmtpAnswer {
  at: SmtpStep
  reply: string | 'drop' | 'hang'
  /** The connection ends with the reply, before its last line break. */
  isCutOff?: true
}

/** A session, and what came of it. */
export interface SmtpCall {
  /** As the client greeted with it. */
  name: string | undefined
  user: string | undefined
  isSecure: boolean
  from: string | undefined
  to: string[]
  /** The content as it came, and what it says; undefined where it didn't come whole. */
  raw: Buffer | undefined
  mail: MailPart | undefined
  isTaken: boolean
}

export interface SmtpEmulator extends Emulator<SmtpCall, SmtpAnswer> {
  config: { host: string; port: number; secure: boolean; user: string; pass: string; from: string }
  /** Sessions that are open now. */
  open(): number
}

const [user, pass] = ['outbound', 'emulated password']

/**
 * Replies are those of RFC 5321 (https://www.rfc-editor.org/rfc/rfc5321#section-4.2.3), of the login those of RFC 4954
 * (https://www.rfc-editor.org/rfc/rfc4954#section-6), the numbers behind them those of RFC 3463
 * (https://www.rfc-editor.org/rfc/rfc3463#section-3).
 */
const replies = {
  wrongLogin: '535 5.7.8 Authentication credentials invalid',
  unknown: '550 5.1.1 Requested action not taken: mailbox unavailable',
  full: '452 4.2.2 Requested action not taken: insufficient system storage',
}

/**
 * A mail server that keeps what it gets. It lets in one user, and knows every recipient but `unknown@…`, and `full@…`
 * whose mailbox is full.
 */
export async function openSmtpEmulator(options: SMTPServerOptions = {}): Promise<SmtpEmulator> {
  const calls: SmtpCall[] = []
  const answers: SmtpAnswer[] = []
  const sessions = new Map<string, { call: SmtpCall; answer: SmtpAnswer | undefined }>()

  const connectionOf = (id: string) => [...server.connections].find((connection) => connection.id === id)
  /** Does what it was told to do at this step. @returns whether it was told anything. */
  const diverts = (id: string, step: SmtpStep): boolean => {
    const { answer } = sessions.get(id) ?? {}
    if (answer?.at !== step) return false
    const connection = connectionOf(id)
    if (answer.reply === 'drop') connection?._socket.destroy()
    else if (connection && answer.reply !== 'hang') say(connection, answer)
    return true
  }
  const server: SMTPServer = new SMTPServer({
    disabledCommands: options.cert ? [] : ['STARTTLS'],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    ...options,
    onConnect({ id, secure }, next) {
      const call = emptyCall(secure)
      keep(calls, call)
      sessions.set(id, { call, answer: answers.shift() })
      const connection = connectionOf(id)
      if (connection) divert(connection, (step) => diverts(id, step))
      if (diverts(id, 'connect')) connection?._socket.end()
      else next()
    },
    onAuth(given, { id, secure }, next) {
      if (given.username !== user || given.password !== pass) return next(failure(replies.wrongLogin))
      Object.assign(sessions.get(id)?.call ?? {}, { user, isSecure: secure })
      next(null, { user })
    },
    onMailFrom({ address }, { id, secure, hostNameAppearsAs: name }, next) {
      Object.assign(sessions.get(id)?.call ?? {}, { name, from: address, isSecure: secure })
      next()
    },
    onRcptTo({ address }, { id }, next) {
      sessions.get(id)?.call.to.push(address)
      const [local] = address.split('@')
      if (local === 'unknown') next(failure(replies.unknown))
      else if (local === 'full') next(failure(replies.full))
      else next()
    },
    async onData(stream, { id }, next) {
      const { call } = sessions.get(id) ?? {}
      const raw = await read(stream, () => diverts(id, 'content'))
      if (!raw || !call) return
      Object.assign(call, { raw, mail: parseMail(raw) })
      if (diverts(id, 'end')) return
      call.isTaken = true
      next()
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    config: { host: '127.0.0.1', port, secure: false, user, pass, from: 'Outbound <outbound@example.org>' },
    calls,
    answerNext: (...next) => void answers.push(...next),
    open: () => server.connections.size,
    async stop() {
      for (const { _socket } of server.connections) _socket.destroy()
      await new Promise<void>((resolve) => server.close(resolve))
    },
  }
}

type Connection = SMTPServer['connections'] extends Set<infer Item> ? Item : never

/** Stands before the handlers of the commands: the server has hooks for some of them only. */
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

function say({ _socket: socket }: Connection, { reply, isCutOff }: SmtpAnswer): void {
  socket.write(reply.replaceAll('\n', '\r\n') + (isCutOff ? '' : '\r\n'))
  // With a 421 the server is about to close, whatever it answers with that (RFC 5321, 4.2.3).
  if (isCutOff || reply.startsWith('421')) socket.end()
}

/** @returns undefined where the client went away. Never, where it was told to do something else with it. */
async function read(stream: SMTPServerDataStream, diverts: () => boolean): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of stream) {
      // Nothing more is read.
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

function emptyCall(isSecure: boolean): SmtpCall {
  return {
    name: undefined,
    user: undefined,
    isSecure,
    from: undefined,
    to: [],
    raw: undefined,
    mail: undefined,
    isTaken: false,
  }
}
