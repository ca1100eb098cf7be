import { hostname } from 'node:os'
import { DelayedError, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import { v7 as uuidv7 } from 'uuid'
import { keyPrefix, queueName, type SendJob } from '../../src/core/sends/send-job.ts'
import { createLogger } from '../../src/platform/log/logger.ts'
import { closeOnSignal, runProcess } from '../../src/platform/process/process.ts'
import { readSettings } from '../../src/platform/settings/settings.ts'
import { leaveNothing } from '../../src/queue/queue.ts'
import { openRuntime } from '../../src/runtime.ts'
import { createDeliver } from '../../workers/deliver.ts'
import { openProviders } from '../../workers/providers/index.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { startHeartbeat } from '../../workers/upkeep/heartbeat.ts'
import { startReconciler } from '../../workers/upkeep/reconcile.ts'
import { startSweeps } from '../../workers/upkeep/sweeps.ts'

const drainMs = 30_000

/** A worker without fairness: it processes one queue, first come, first served. */
await runProcess(async () => {
  const settings = readSettings()
  const log = createLogger(settings.LOG_LEVEL)
  const runtime = openRuntime('worker', settings, log)
  const name = `${hostname()}-${process.pid}-${uuidv7().slice(-6)}`
  const heartbeat = startHeartbeat(runtime, name)
  const { senders, close: closeProviders } = openProviders(runtime)
  const permits = createPermits(runtime)
  const deliver = createDeliver(runtime, { senders, heartbeat, permits })
  const concurrency = settings.WORKER_CONCURRENCY
  const [shard] = runtime.shards
  const worker = new Worker<SendJob>(
    queueName,
    async (job, token) => {
      const { wakeInMs } = await deliver(job.data.requestId)
      if (wakeInMs === undefined) return
      await job.moveToDelayed(Date.now() + wakeInMs, token)
      throw new DelayedError()
    },
    { connection: shard?.redis as Redis, prefix: keyPrefix, concurrency, ...leaveNothing },
  )
  const tasks = [startReconciler(runtime, permits), startSweeps(runtime, heartbeat, () => [])]
  log.info({ event: 'working', worker: name, concurrency })
  closeOnSignal(log, drainMs, async () => {
    await Promise.all([worker.close(), ...tasks.map((task) => task.stop())])
    await heartbeat.stop()
    await closeProviders()
    await runtime.close()
  })
})
