import type { Context } from 'hono'
import type { ReceiptRequest } from '../core/receipts/receipt.ts'
import type { Runtime } from '../runtime.ts'
import { createRecordReceipts } from '../sends/record-receipts.ts'
import { type ApiEnv, factory } from './context.ts'
import { wrongMethod } from './errors.ts'
import type { ClientTimeouts } from './http/client-timeouts.ts'
import { createAddressChannels } from './receipts/address-channels.ts'
import { answerChallenge, answerReceived } from './receipts/answer.ts'
import { createCheckProof } from './receipts/check-proof.ts'
import { findByMessageId } from './receipts/find-by-message-id.ts'
import { createFindReceivingChannel, createOpenChannel, type OpenChannel } from './receipts/find-channel.ts'
import { readReceipts } from './receipts/read-receipts.ts'
import { createReadRequest, refuseUnfitBody } from './receipts/read-request.ts'

/**
 * Handles what a provider reports about messages that it has accepted. The order is a promise (docs/reference/receipts.md): nothing
 * of a request is used before its proof is checked, and a 200 means that all of its receipts are committed in PostgreSQL.
 */
export function receiveReceipt(runtime: Runtime, timeouts: ClientTimeouts) {
  const openChannel = createOpenChannel(runtime)
  const findChannel = createFindReceivingChannel(openChannel)
  const readRequest = createReadRequest(runtime, timeouts)
  const { checkProof, refuse } = createCheckProof(runtime)
  const addressChannels = createAddressChannels(runtime, openChannel)
  const recordReceipts = createRecordReceipts(runtime)

  const post = factory.createHandlers(refuseUnfitBody, async (c) => {
    const channel = await findChannel(c)
    return await receive(c, channel, await readRequest(c))
  })

  async function receive(c: Context<ApiEnv>, channel: OpenChannel, request: ReceiptRequest) {
    await checkProof(c, channel, request)
    const read = await readReceipts(runtime, channel, request)
    const { provider, channelId, rules } = channel
    const deadline = c.get('deadline')
    const found = rules.foundById
      ? await deadline.spend(findByMessageId(runtime, channel, read.receipts))
      : read.receipts
    const receipts = await addressChannels(c, channel, found)
    await deadline.spend(recordReceipts({ ...read, provider, channelId, receipts }))
    return answerReceived(c)
  }

  const check = factory.createHandlers(async (c) => {
    const channel = await findChannel(c)
    if (channel.rules.byGet) {
      await receive(c, channel, await readRequest(c))
      return answerChallenge(c, '')
    }
    if (!channel.rules.answerCheck) throw wrongMethod(['POST'])
    const challenge = channel.rules.answerCheck(new URL(c.req.url).searchParams, channel.config)
    if (challenge === undefined) return await refuse(c, channel)
    return answerChallenge(c, challenge)
  })

  return { post, check }
}
