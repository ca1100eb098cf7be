import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Pool } from 'undici'
import { keyPrefix, queueName } from '../../../src/core/sends/send-job.ts'
import { environmentVariables } from '../../../src/platform/settings/environment.ts'
import { readSettings } from '../../../src/platform/settings/settings.ts'
import { leaveNothing } from '../../../src/queue/queue.ts'

/**
 * The cost of BullMQ and HTTP alone: each job is an unrecorded call to the provider at PUBLIC_BASE_URL, with what the job holds. In
 * one of the service's own API that is the requestId alone.
 */
const settings = readSettings()
const concurrency = settings.WORKER_CONCURRENCY
const url = new URL(String(settings.PUBLIC_BASE_URL))
const pool = new Pool(url.origin, { connections: concurrency })

const message = {
  contact: { type: 'phone', value: '+15550100000' },
  message: { type: 'text', text: { value: 'Hello' } },
}

const worker = new Worker<{ requestId: string }>(
  queueName,
  async ({ data }) => {
    const { body } = await pool.request({
      method: 'POST',
      path: url.pathname,
      headers: { 'content-type': 'application/json', 'webhook-id': data.requestId },
      body: JSON.stringify({ ...message, ...data }),
    })
    await body.text()
  },
  {
    connection: new Redis(String(environmentVariables.REDIS_URL), { maxRetriesPerRequest: null }),
    prefix: keyPrefix,
    concurrency,
    ...leaveNothing,
  },
)
await worker.waitUntilReady()
console.log(JSON.stringify({ event: 'working' }))
process.once('SIGTERM', () => process.exit())
