import type { ProviderAnswer } from '../core/sends/outcome.ts'
import { findProvider } from './known.ts'

/** The meaning of an answer of the provider of this name; undefined if it isn't known, or the provider's file was removed. */
export const meaningOfAnswer = (provider: string, answer: ProviderAnswer): string | undefined =>
  findProvider(provider)?.meaningOf(answer)
