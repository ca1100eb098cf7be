import { readdir, readFile, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { nowMs } from '../clock.ts'
import { cpuSeconds } from '../cpu-time.ts'
import { percentile } from '../figures.ts'
import type { Accepted } from '../post.ts'
import type { Stage } from '../stage.ts'
import { fixedWorkMs } from './fixed-work.ts'

/** After this long a call without an accept is a retry: the answer to its client may be read late. */
const retryAfterMs = 60_000
const largestLogBytes = 64 * 1024 * 1024

/** What was measured in one part of the time. */
export interface Part {
  p50Ms: number
  p99Ms: number
  apiMebibytes: number
  workerMebibytes: number
  /** CPU time of all processes for each accepted send. */
  cpuMicros: number
  /** CPU time of a fixed calculation: how slow the machine was. */
  fixedWorkMs: number
  sends: number
}

/** Matches accepts with calls, part by part; what is over is forgotten, however long the test takes. */
export class Watch {
  readonly #stage: Stage
  readonly #waiting = new Map<string, { acceptedAt: number; isFlood: boolean }>()
  /** Calls whose answer to the client hasn't been read yet. */
  readonly #early = new Map<string, number>()
  #latencies: number[] = []
  #accepted = 0
  #acceptedBefore = 0
  #cpuSecondsBefore = 0

  constructor(stage: Stage) {
    this.#stage = stage
  }

  get unarrived(): number {
    return this.#waiting.size
  }

  get accepted(): number {
    return this.#accepted
  }

  add({ requestId, acceptedAt }: Accepted, isFlood: boolean): void {
    this.#accepted++
    const arrivedAt = this.#early.get(requestId)
    if (arrivedAt === undefined) {
      this.#waiting.set(requestId, { acceptedAt, isFlood })
      return
    }
    this.#early.delete(requestId)
    if (!isFlood) this.#latencies.push(Math.max(0, arrivedAt - acceptedAt))
  }

  /** Takes the provider's calls. The first of a send counts. */
  async takeCalls(): Promise<void> {
    const seen = new Set<string>()
    for (const { requestId, arrivedAt } of await this.#stage.provider.takeCalls()) {
      const waiting = this.#waiting.get(requestId)
      if (waiting) {
        this.#waiting.delete(requestId)
        if (!waiting.isFlood) this.#latencies.push(Math.max(0, arrivedAt - waiting.acceptedAt))
      } else if (!this.#early.has(requestId) && !seen.has(requestId)) {
        this.#early.set(requestId, arrivedAt)
      }
      seen.add(requestId)
    }
    for (const [requestId, arrivedAt] of this.#early) {
      if (nowMs() - arrivedAt > retryAfterMs) this.#early.delete(requestId)
    }
  }

  async begin(): Promise<void> {
    this.#cpuSecondsBefore = await cpuSeconds()
  }

  async endPart(): Promise<Part> {
    const latencies = this.#latencies
    this.#latencies = []
    const accepted = this.#accepted - this.#acceptedBefore
    this.#acceptedBefore = this.#accepted
    const cpu = await cpuSeconds()
    const cpuMicros = ((cpu - this.#cpuSecondsBefore) * 1e6) / accepted
    this.#cpuSecondsBefore = cpu
    const [worker] = this.#stage.workers()
    await emptyLogs(this.#stage.folder)
    return {
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
      apiMebibytes: await residentMebibytes(this.#stage.api.program.pid),
      workerMebibytes: await residentMebibytes(worker?.pid),
      cpuMicros,
      fixedWorkMs: fixedWorkMs(),
      sends: latencies.length,
    }
  }
}

async function residentMebibytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

/** They are in memory, where half an hour of them would not fit. */
async function emptyLogs(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name)
    if (name.endsWith('.log') && (await stat(file)).size > largestLogBytes) await truncate(file)
  }
}
