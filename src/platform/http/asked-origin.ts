import type { IncomingMessage } from 'node:http'
import type { Settings } from '../settings/settings.ts'
import { isFromProxy } from './client-address.ts'

/**
 * Creates the reader of the origin that the client asked for, such as `https://console.example`. This process itself speaks
 * http: only a proxy in `TRUST_PROXY` knows about TLS, and about the host if the proxy replaced it. X-Forwarded-Proto and
 * X-Forwarded-Host go before Forwarded; of a list the first value counts, which is that of the proxy nearest to the client.
 *
 * @returns a function; it returns undefined if no origin can be made of what the request says.
 */
export function createReadAskedOrigin({ settings }: { settings: Pick<Settings, 'TRUST_PROXY'> }) {
  return (incoming: IncomingMessage): string | undefined => {
    const { headers } = incoming
    const said = isFromProxy(incoming, settings) ? saidByProxy(headers) : {}
    const scheme = said.proto?.toLowerCase() === 'https' ? 'https' : 'http'
    const asked = `${scheme}://${said.host ?? headers.host ?? ''}`
    return URL.canParse(asked) ? new URL(asked).origin : undefined
  }
}

interface Said {
  proto?: string | undefined
  host?: string | undefined
}

function saidByProxy(headers: IncomingMessage['headers']): Said {
  const first = (name: string) =>
    String(headers[name] ?? '')
      .split(',')[0]
      ?.trim() || undefined
  const forwarded = firstOfForwarded(headers.forwarded ?? '')
  return {
    proto: first('x-forwarded-proto') ?? forwarded.proto,
    host: first('x-forwarded-host') ?? forwarded.host,
  }
}

/** A pair of RFC 7239, or the comma after the first element. Values of these two have no escaped characters. */
const pair = /(?<name>[\w-]+)=(?:"(?<quoted>[^"]*)"|(?<token>[^\s;,"]*))|(?<end>,)/g

function firstOfForwarded(header: string): Said {
  const pairs: [string, string][] = []
  for (const { groups: { name = '', quoted, token = '', end } = {} } of header.matchAll(pair)) {
    if (end !== undefined) break
    pairs.push([name.toLowerCase(), quoted ?? token])
  }
  return Object.fromEntries(pairs)
}
