import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect } from 'vitest'
import { expectSooner, timed } from '../../support/standstill.ts'

/** The service's promise under a flood of a hundred connections (docs/reference/limits.md#memory-of-an-api-process). */
export const floodConnections = 100
const maxRssBytes = 300 * 1024 * 1024
const healthyWithinMs = 500
const checks = 15
const betweenChecksMs = 50

export interface Flood {
  pid: number
  port: number
  /** Sent on each connection at once. */
  bytes: string | Buffer
  /** Whether the client ends its side after it. */
  isHalfClosed?: boolean
  /** How the client reads the answers: not at all, or a byte a second. */
  reads?: 'nothing' | 'slowly'
}

/** Floods a process, and checks from outside that it stays small and answers others in time. */
export async function expectCalmUnder({ pid, ...flood }: Flood): Promise<void> {
  const workerData = { ...flood, connections: floodConnections }
  const flooder = new Worker(new URL('./flooder.mjs', import.meta.url), { workerData, execArgv: [] })
  try {
    await once(flooder, 'message')
    resetPeak(pid)
    flooder.postMessage('begin')
    for (let check = 0; check < checks; check++) {
      const waitedBefore = waitedForCpuMs(pid)
      const health = await timed(() => fetchHealth(flood.port))
      const waitedMs = waitedForCpuMs(pid) - waitedBefore
      expect(health.status).toBe(200)
      expectSooner({ ...health, tookMs: health.tookMs - waitedMs }, healthyWithinMs)
      await sleep(betweenChecksMs)
    }
    expect(peakRssBytes(pid)).toBeLessThanOrEqual(maxRssBytes)
  } finally {
    await flooder.terminate()
  }
}

/** How long the main thread of a process could have run, but other processes had the CPU. */
function waitedForCpuMs(pid: number): number {
  const [, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')
  return Number(waitedNs) / 1e6
}

/** On a connection of its own, as a balancer's. */
async function fetchHealth(port: number): Promise<{ status: number }> {
  const response = await fetch(`http://127.0.0.1:${port}/healthz`, { headers: { Connection: 'close' } })
  await response.arrayBuffer()
  return { status: response.status }
}

const resetPeak = (pid: number) => writeFileSync(`/proc/${pid}/clear_refs`, '5')

function peakRssBytes(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes) * 1024
}

export function pipelined(
  count: number,
  { method = 'GET', path, headers = {}, body = '' }: FloodRequest,
): Buffer {
  const lines = Object.entries({
    Host: 'localhost',
    ...headers,
    ...(body !== '' && { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`.repeat(count))
}

interface FloodRequest {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}
