import type { Context } from 'hono'
import type { ReceiptRequest } from '../../core/receipts/receipt.ts'
import type { ApiEnv } from '../context.ts'
import { ApiError } from '../errors.ts'
import { createCountFailure, type Refusing } from '../keys/authenticate.ts'
import type { OpenChannel } from './find-channel.ts'

export const notProven = () =>
  new ApiError(
    'invalid_signature',
    "The signature or token is not the one of this channel. Check the channel's config at both ends.",
  )

export const tooManyUnproven = (resetSeconds: number) =>
  new ApiError(
    'too_many_failures',
    'Too many requests with a wrong signature or token from this address. Wait before you try again.',
    {
      'Retry-After': String(resetSeconds),
    },
  )

/** Checks that a request comes from the channel's provider: 403, or 429 to an address whose proofs keep failing. */
export function createCheckProof(runtime: Refusing) {
  const countFailure = createCountFailure(runtime)
  const refuse = async (c: Context<ApiEnv>, { provider }: OpenChannel): Promise<never> => {
    runtime.metrics.receipts.inc({ provider, result: 'refused' })
    const { isOver, resetSeconds } = await countFailure(c)
    throw isOver ? tooManyUnproven(resetSeconds) : notProven()
  }
  return {
    refuse,
    checkProof: async (c: Context<ApiEnv>, channel: OpenChannel, request: ReceiptRequest): Promise<void> => {
      if (!channel.rules.isProven(request, channel.config)) await refuse(c, channel)
    },
  }
}
