import { cpuSecondsOf, parentOf } from './cpu-time.ts'
import type { Stage } from './stage.ts'

/** µs of CPU since each was started, those of its children included. */
export interface CpuByProcess {
  api: number
  /** CPU of all workers. */
  worker: number
  postgres: number
  /** One for each node. */
  redis: number[]
}

/** @param api that is measured: the stage's own by default. */
export async function cpuByProcess(stage: Stage, api = stage.api.program): Promise<CpuByProcess> {
  const { rows } = await stage.db.$client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const workers = await Promise.all(stage.workers().map((worker) => microsOf(worker.pid)))
  return {
    api: await microsOf(api.pid),
    worker: sumOf(workers),
    postgres: await microsOf(await parentOf(rows[0]?.pid ?? 0)),
    redis: await Promise.all(
      stage.redisNodes.map(async (node) => {
        const [, redisPid] = /process_id:(\d+)/.exec(await node.info('server')) ?? []
        return await microsOf(Number(redisPid))
      }),
    ),
  }
}

const microsOf = async (pid: number) => (await cpuSecondsOf(pid)) * 1e6

export const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)
