import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export interface KeepAliveClient {
  answers: number
  /** Resolves with how its one connection ended: by an answer with `Connection: close`, or by an error's code. */
  end: Promise<string>
}

/** Repeats a request as soon as it is answered, or after `pauseMs`, on one connection, until an answer closes it. */
export function startKeepAliveClient(url: string, pauseMs = 0): KeepAliveClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const client: KeepAliveClient = { answers: 0, end: Promise.resolve('') }
  const ask = async (): Promise<string> => {
    for (;;) {
      const request = get(`${url}/healthz`, { agent })
      try {
        const [answer] = (await once(request, 'response')) as [IncomingMessage]
        answer.resume()
        await once(answer, 'end')
        client.answers++
        if (answer.headers.connection === 'close') return 'Connection: close'
        if (pauseMs > 0) await sleep(pauseMs)
      } catch (error) {
        return (error as NodeJS.ErrnoException).code ?? String(error)
      }
    }
  }
  client.end = ask().finally(() => agent.destroy())
  return client
}
