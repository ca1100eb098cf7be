import { createHmac } from 'node:crypto'
import { hostname } from 'node:os'
import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { openConfig } from '../../../src/core/channels/sealed-config.ts'
import { keyPrefix, queueName, type SendJob } from '../../../src/core/sends/send-job.ts'
import { environmentVariables } from '../../../src/platform/settings/environment.ts'
import { credentialsKeys, readSettings } from '../../../src/platform/settings/settings.ts'
import type { WebhookConfig } from '../../../src/providers/webhook/config.ts'
import { leaveNothing } from '../../../src/queue/queue.ts'
import { type ClaimedSend, claimSend, connectPool, recordOutcome } from './queries.ts'

/**
 * A usual implementation of the worker: for each job a statement that claims the send, `fetch`, and a statement that records the
 * outcome.
 */
const settings = readSettings()
const log = pino()
const pool = connectPool(settings)
const keys = credentialsKeys(settings)
const name = `${hostname()}-${process.pid}`

const worker = new Worker<SendJob>(
  queueName,
  async ({ data: { requestId } }) => {
    const send = await claimSend(pool, requestId, name)
    if (!send) return
    log.info({ requestId, event: 'attempt_started', worker: name })
    const startedAt = performance.now()
    const response = await post(requestId, send)
    await response.text()
    const status = response.ok ? 'sent' : 'failed'
    const record = { providerStatus: response.status, durationMs: Math.round(performance.now() - startedAt) }
    await recordOutcome(pool, requestId, { status, record })
    log.info({ requestId, event: 'attempt_finished', ...record })
    log.info({ requestId, event: status })
  },
  {
    connection: new Redis(String(environmentVariables.REDIS_URL), { maxRetriesPerRequest: null }),
    prefix: keyPrefix,
    concurrency: settings.WORKER_CONCURRENCY,
    ...leaveNothing,
  },
)
worker.on('failed', (job, error) => log.error({ requestId: job?.data.requestId, err: error }))
await worker.waitUntilReady()
log.info({ event: 'working' })

/** Signs like Standard Webhooks. */
async function post(requestId: string, send: ClaimedSend): Promise<Response> {
  const { channelId, contact, message, sealedConfig } = send
  const { url, secret } = openConfig(sealedConfig, channelId, keys) as WebhookConfig
  const body = JSON.stringify({ requestId, channelId, contact, message })
  const timestamp = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', Buffer.from(String(secret).replace(/^whsec_/, ''), 'base64'))
    .update(`${requestId}.${timestamp}.${body}`)
    .digest('base64')
  return await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': requestId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
    },
    body,
    signal: AbortSignal.timeout(settings.PROVIDER_TIMEOUT_SECONDS * 1000),
  })
}
process.once('SIGTERM', () => process.exit())
