import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { SmtpConfig } from '../../src/providers/smtp/config.ts'

/** Servers close a connection that is idle, or that has brought many mails. */
const limits = { longestIdleMs: 5000, maxMails: 100 }

/** Learns how a connection ends. */
export interface Watcher {
  onError(error: SMTPConnection.SMTPError): void
  onEnd(): void
}

/** A connection, logged in if the channel has a login, and who learns of its end. */
export interface OpenConnection {
  connection: SMTPConnection
  /** How many mails the server has accepted over it. */
  mails: number
  watcher: Watcher
}

/** Connections that wait for a next mail. */
export interface SmtpConnections {
  /** One for the channel's next mail; undefined if none is open. It doesn't wait any longer. */
  take(config: SmtpConfig): OpenConnection | undefined
  /** Keeps a connection after the server has accepted a mail: only then does the next mail begin with a clean state. */
  keep(config: SmtpConfig, open: OpenConnection): void
  close(): void
}

/**
 * Keeps connections by the config they were opened with, by its identity: a channel with another config gets other connections.
 * A connection is used by one mail at a time, so there are as many as mails at the same time.
 */
export function openSmtpConnections({ longestIdleMs, maxMails } = limits): SmtpConnections {
  const waiting = new Map<SmtpConfig, OpenConnection[]>()
  const timers = new Map<OpenConnection, NodeJS.Timeout>()
  let isClosed = false

  function forget(config: SmtpConfig, open: OpenConnection): void {
    clearTimeout(timers.get(open))
    timers.delete(open)
    const others = waiting.get(config)?.filter((one) => one !== open) ?? []
    if (others.length > 0) waiting.set(config, others)
    else waiting.delete(config)
  }
  return {
    take(config) {
      // The latest, so that those that aren't needed become idle.
      const open = waiting.get(config)?.at(-1)
      if (open) forget(config, open)
      return open
    },
    keep(config, open) {
      if (isClosed || open.mails >= maxMails) return leave(open)
      const end = () => forget(config, open)
      open.watcher = { onError: end, onEnd: end }
      waiting.set(config, [...(waiting.get(config) ?? []), open])
      const timer = setTimeout(() => {
        end()
        leave(open)
      }, longestIdleMs)
      timers.set(open, timer.unref())
    },
    close() {
      isClosed = true
      for (const open of timers.keys()) leave(open)
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
      waiting.clear()
    },
  }
}

/** Ends a session in which no mail is under way. */
export function leave({ connection }: Pick<OpenConnection, 'connection'>): void {
  connection.quit()
  connection.close()
}
