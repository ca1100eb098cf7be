import pino from 'pino'
import { connectDatabase } from '../../../db/connection/client.ts'
import { migrateDatabase } from '../../../db/migrate.ts'
import { startEmbedded } from '../../../src/dev/embedded/index.ts'
import { startTestAdmin } from '../../support/admin.ts'
import type { Benchmark } from '../benchmark.ts'
import { percentile } from '../figures.ts'
import { atMost } from '../speed/ratio.ts'
import { grow, sizesOf } from './grow.ts'

const bounds = { floor: 300, aim: 100 }
const defaultSends = 10_000_000
const quickSends = 200_000
const times = 20

/** The time of each page of the console, with many accounts, channels and sends of the last week. */
export const consolePages: Benchmark = {
  names: ['console'],
  async run({ isQuick, sends = isQuick ? quickSends : defaultSends, print }) {
    const servers = await startEmbedded({ needs: { postgres: true, redis: true } })
    const { databaseUrl = '', redisUrl = '' } = servers
    const db = connectDatabase(databaseUrl, {
      poolSize: 1,
      queryTimeoutMs: 3_600_000,
      onConnectionLost: () => {},
    })
    try {
      await migrateDatabase(databaseUrl)
      const sizes = sizesOf(sends)
      const pages = await grow(db, sizes, print)
      const runtime = { log: pino({ level: 'silent' }) }
      const admin = await startTestAdmin({ stores: { databaseUrl, redisUrl }, runtime } as Parameters<
        typeof startTestAdmin
      >[0])
      const results = []
      for (const path of pages) {
        const ms: number[] = []
        for (let time = 0; time < times; time++) {
          const startedAt = performance.now()
          const response = await fetch(admin.url + path)
          await response.text()
          ms.push(performance.now() - startedAt)
          if (response.status !== 200) throw new Error(`${path}: ${response.status}`)
        }
        const shown = path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
        const [p50, p95] = [percentile(ms, 0.5), percentile(ms, 0.95)]
        print(`console: ${shown}: p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`)
        results.push(atMost('console', shown, { variant: 'p95', unit: ' ms', values: [p95] }, bounds))
      }
      await admin.stop()
      const { accounts, channels } = sizes
      return {
        conditions: `${sends.toLocaleString('en')} sends, ${accounts} accounts, ${channels} channels`,
        results,
      }
    } finally {
      await db.$client.end()
      await servers.stop()
    }
  },
}
