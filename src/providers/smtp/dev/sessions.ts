import { keep } from '../../shared/dev/emulator.ts'
import type { MailPart } from './mail-part.ts'

/** The step at which a session may fail: `content` is after the first bytes of the mail, `end` after the last. */
export type SmtpStep = 'connect' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'content' | 'end'

/** Replaces the usual reply at one step. */
export interface SmtpAnswer {
  at: SmtpStep
  /** Sent unchanged, even if it is no valid SMTP, e.g. `451 4.3.0 Try again later`; line breaks separate its lines. */
  reply: string | 'drop' | 'hang'
  /** The connection ends with the reply, before its last line break. */
  isCutOff?: true
}

/** A mail of a session, and its result. A session that brings no mail is one call, too. */
export interface SmtpCall {
  /** The number of the mail in its session, from 1. */
  mailOfSession: number
  /** The client's name in EHLO. */
  name: string | undefined
  user: string | undefined
  isSecure: boolean
  from: string | undefined
  to: string[]
  /** The client's parameters of the extension DSN (RFC 3461). */
  envelopeId: string | null
  notify: string[]
  /** The content, raw and parsed; undefined unless all of it was received. */
  raw: Buffer | undefined
  mail: MailPart | undefined
  isTaken: boolean
}

/** The state of each session: its current mail, and the answer that is set for it. */
export function openSessions(calls: SmtpCall[]) {
  const answers: SmtpAnswer[] = []
  const sessions = new Map<string, { call: SmtpCall; answer: SmtpAnswer | undefined }>()
  const callOf = (id: string) => sessions.get(id)?.call
  const begin = (id: string, call: SmtpCall) => {
    keep(calls, call)
    sessions.set(id, { call, answer: answers.shift() })
  }
  return {
    begin,
    callOf,
    answerAt(id: string, step: SmtpStep): SmtpAnswer | undefined {
      const call = callOf(id)
      if (step === 'MAIL' && call?.isTaken) begin(id, nextCall(call))
      const { answer } = sessions.get(id) ?? {}
      return answer?.at === step ? answer : undefined
    },
    answerNext: (...next: SmtpAnswer[]) => void answers.push(...next),
  }
}

/** A mail after an accepted one is a call of its own. */
function nextCall({ name, user, isSecure, mailOfSession }: SmtpCall): SmtpCall {
  return { ...emptyCall(isSecure), name, user, mailOfSession: mailOfSession + 1 }
}

export function emptyCall(isSecure: boolean): SmtpCall {
  return {
    mailOfSession: 1,
    name: undefined,
    user: undefined,
    isSecure,
    from: undefined,
    to: [],
    envelopeId: null,
    notify: [],
    raw: undefined,
    mail: undefined,
    isTaken: false,
  }
}
