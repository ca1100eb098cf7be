import type { ProviderAnswer } from '../core/sends/outcome.ts'
import { type ProviderName, providers } from './index.ts'

/** The meaning of an answer of the provider of this name; undefined if it isn't known. */
export const meaningOfAnswer = (provider: string, answer: ProviderAnswer): string | undefined =>
  providers[provider as ProviderName].meaningOf(answer)
