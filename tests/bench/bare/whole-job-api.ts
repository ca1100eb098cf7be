import { serve } from '@hono/node-server'
import { zValidator } from '@hono/zod-validator'
import { Queue } from 'bullmq'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import { v7 as uuidv7 } from 'uuid'
import { keyPrefix, queueName } from '../../../src/core/sends/send-job.ts'
import { sendRequestSchemas } from '../../../src/core/sends/send-request.ts'
import { environmentVariables } from '../../../src/platform/settings/environment.ts'
import { readSettings } from '../../../src/platform/settings/settings.ts'

/** The service's parts alone: Hono, zod, and a BullMQ job that holds the whole send. No record, key, limit or log. */
const settings = readSettings()
const redis = new Redis(String(environmentVariables.REDIS_URL), { maxRetriesPerRequest: 1 })
const queue = new Queue(queueName, { connection: redis, prefix: keyPrefix })
const { channelInBody } = sendRequestSchemas(settings.CLIENT_PRIVATE_NETWORKS)

const app = new Hono()
app.post('/v1/messages', zValidator('json', channelInBody), async (c) => {
  const requestId = uuidv7()
  const job = { ...c.req.valid('json'), requestId }
  await queue.add('send', job, { jobId: requestId, removeOnComplete: true, removeOnFail: true })
  return c.json({ requestId }, 202)
})

serve({ fetch: app.fetch, port: settings.PORT, hostname: settings.HOST }, ({ port }) => {
  console.log(JSON.stringify({ event: 'listening', port }))
})
process.once('SIGTERM', () => process.exit())
