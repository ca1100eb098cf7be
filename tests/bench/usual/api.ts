import type { AddressInfo } from 'node:net'
import { Queue } from 'bullmq'
import express, { type ErrorRequestHandler, type RequestHandler, type Response } from 'express'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { v7 as uuidv7 } from 'uuid'
import { hashApiKey } from '../../../src/core/accounts/api-key.ts'
import { describeIssues } from '../../../src/core/requests/issues.ts'
import { keyPrefix, queueName } from '../../../src/core/sends/send-job.ts'
import { sendRequestSchemas } from '../../../src/core/sends/send-request.ts'
import { environmentVariables } from '../../../src/platform/settings/environment.ts'
import { readSettings } from '../../../src/platform/settings/settings.ts'
import { connectPool, findCaller, findChannel, insertSend } from './queries.ts'

/**
 * A usual implementation of the API: Express, a query for each check, an insert, and `queue.add`. It has the same tables, body
 * schema, rate limit, answers and durability, and the usual optimisations: a pool of connections, prepared statements,
 * production mode.
 */
const settings = readSettings()
const log = pino()
const pool = connectPool(settings)
const redis = new Redis(String(environmentVariables.REDIS_URL), { maxRetriesPerRequest: 1 })
const queue = new Queue(queueName, { connection: redis, prefix: keyPrefix })
const { channelInBody } = sendRequestSchemas(settings.CLIENT_PRIVATE_NETWORKS)
const limiters = new Map<string, RateLimiterRedis>()

const app = express()
app.disable('x-powered-by')
app.disable('etag')
app.use(nameRequest)
app.post('/v1/messages', authenticate, express.json({ limit: settings.MAX_BODY_BYTES }), send)
app.use(fail)

const server = app.listen(settings.PORT, settings.HOST, () => {
  log.info({ event: 'listening', port: (server.address() as AddressInfo).port })
})

function nameRequest(...[, response, next]: Parameters<RequestHandler>): void {
  response.locals.requestId = uuidv7()
  response.set('X-Request-Id', response.locals.requestId)
  next()
}

async function authenticate(...[request, response, next]: Parameters<RequestHandler>): Promise<void> {
  const apiKey = /^Bearer (\S+)$/.exec(request.get('Authorization') ?? '')?.[1]
  const caller = apiKey && (await findCaller(pool, hashApiKey(apiKey, settings.API_KEY_PEPPER)))
  if (!caller) return refuse(response, 401, 'Send a valid API key')
  if (!caller.permissions.includes('messages:send')) return refuse(response, 403, 'Not allowed')
  response.locals.caller = caller
  next()
}

async function send(...[request, response]: Parameters<RequestHandler>): Promise<void> {
  const { requestId, caller } = response.locals
  const parsed = channelInBody.safeParse(request.body)
  if (!parsed.success) return refuse(response, 400, describeIssues(parsed.error.issues))
  const { channelId = '', contact, message } = parsed.data

  const channel = await findChannel(pool, channelId, caller.accountId)
  if (!channel) return refuse(response, 404, 'Channel not found')
  if (!(await isWithinLimit(caller))) return refuse(response, 429, 'Too many requests')

  await insertSend(pool, { ...parsed.data, requestId, channelId, accountId: caller.accountId })
  await queue.add('send', { requestId }, { jobId: requestId, removeOnComplete: true, removeOnFail: true })
  log.info({ requestId, event: 'accepted', channelId, contactType: contact.type, messageType: message.type })
  response.status(202).json({ requestId })
}

async function isWithinLimit({ accountId, points, seconds }: Response['locals']): Promise<boolean> {
  const policy = { points: points ?? settings.RATE_LIMIT_POINTS, duration: seconds ?? 60 }
  const key = `${policy.points}/${policy.duration}`
  const limiter = limiters.get(key) ?? new RateLimiterRedis({ storeClient: redis, ...policy })
  limiters.set(key, limiter)
  try {
    await limiter.consume(accountId)
    return true
  } catch (error) {
    if (error instanceof RateLimiterRes) return false
    throw error
  }
}

function refuse(response: Response, statusCode: number, message: string): void {
  response.status(statusCode).json({ statusCode, message, requestId: response.locals.requestId })
}

function fail(...[error, , response, _next]: Parameters<ErrorRequestHandler>): void {
  log.error({ err: error, requestId: response.locals.requestId })
  refuse(response, error.status ?? 500, 'Something went wrong')
}
process.once('SIGTERM', () => process.exit())
