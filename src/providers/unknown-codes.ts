import { findProvider } from './known.ts'

/** How often a provider gave a code, or a status in place of one. */
export interface CountedCode {
  code: string
  sends: number
}

const isStatus = (code: string) => /^[1-5]\d\d$/.test(code)

/** The codes that the tables of a provider don't know, each once: its outcomes went by the status. None for a provider without tables. */
export function unknownCodes(name: string, counted: readonly CountedCode[]): CountedCode[] {
  const provider = findProvider(name)
  if (!provider?.codes && !provider?.otherCodes) return []
  const sums = new Map<string, number>()
  for (const { code, sends } of counted) {
    const isKnown = code === '' || isStatus(code) || provider.meaningOf({ providerCode: code }) !== undefined
    if (!isKnown) sums.set(code, (sums.get(code) ?? 0) + sends)
  }
  return [...sums].map(([code, sends]) => ({ code, sends })).sort((one, other) => other.sends - one.sends)
}
