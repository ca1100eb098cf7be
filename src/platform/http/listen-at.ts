import { once } from 'node:events'
import type { Server } from 'node:net'

/** The address that a server listens at, and the names of the settings that it comes from. */
export interface ListenAt {
  host: string
  port: number
  settings: { host: string; port: string }
}

/** A server can't listen at its address. The message is one line that names the setting to change. */
export class ListenFault extends Error {
  readonly code: string | undefined

  constructor({ host, port, settings }: ListenAt, { code, message }: NodeJS.ErrnoException) {
    const at = `${host}:${port}`
    const isPortTaken = code === 'EADDRINUSE' || code === 'EACCES'
    const advice: Record<string, string> = {
      EADDRINUSE: `something listens at ${at} already; stop it, or set ${settings.port} to a free port`,
      EACCES: `this user may not listen at ${at}; set ${settings.port} to a port above 1023`,
    }
    const otherwise = `can't listen at ${at}; set ${settings.host} to an address of this machine, e.g. 127.0.0.1`
    super(
      `${isPortTaken ? settings.port : settings.host}: ${advice[code ?? ''] ?? otherwise} (${code ?? message})`,
    )
    this.code = code
  }
}

/** @throws ListenFault */
export async function listenAt(server: Server, at: ListenAt): Promise<void> {
  // As in a URL: `[::]`.
  server.listen(at.port, at.host.replace(/^\[(.*)\]$/, '$1'))
  await once(server, 'listening').catch((error) => {
    throw new ListenFault(at, error)
  })
}
