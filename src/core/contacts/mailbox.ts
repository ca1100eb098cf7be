import { parseEmail } from './email.ts'

/** Parses an address with an optional name: `ann@example.com`, `Ann <ann@example.com>`, `"Ann" <…>`. */
export function parseMailbox(value: string): { name: string; address: string } | undefined {
  const [, name = '', inBrackets = ''] = /^([^<>]*)<([^<>]*)>$/.exec(value.trim()) ?? []
  const address = parseEmail(inBrackets || value.trim())
  if (address === undefined) return undefined
  const [, quoted] = /^"(.*)"$/.exec(name.trim()) ?? []
  return { name: quoted?.replace(/\\(.)/g, '$1') ?? name.trim(), address }
}

export const domainOf = (address: string) => address.slice(address.lastIndexOf('@') + 1)
