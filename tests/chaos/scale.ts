import type { Scale } from './fault.ts'

/** At 10,000 sends the faults strike as often as docs/explanation/reliability.md says; with fewer sends, less often. */
export function scaleOf(sends: number): Scale {
  const upTo = (most: number, least: number) =>
    Math.max(least, Math.min(most, Math.round((most * sends) / 10_000)))
  return {
    workerKills: upTo(20, 3),
    apiKills: upTo(5, 2),
    restarts: upTo(10, 2),
    dueTogether: upTo(10_000, 200),
    cancels: upTo(1000, 100),
    keys: upTo(200, 20),
    requestsPerKey: upTo(100, 20),
    storeSeconds: 8,
    outageSeconds: 60,
    freezeSeconds: 20,
    failovers: upTo(5, 1),
    awaySeconds: 30,
  }
}

/** As `npm run test:system` runs it, in three parts side by side; `npm run chaos -- --short` runs the same faults one after the other. */
export const short = {
  seed: 1,
  sends: 1000,
  providerTimeoutSeconds: 5,
  scale: {
    workerKills: 3,
    apiKills: 2,
    restarts: 2,
    dueTogether: 500,
    cancels: 100,
    keys: 20,
    requestsPerKey: 20,
    storeSeconds: 5,
    outageSeconds: 4,
    freezeSeconds: 11,
    failovers: 1,
    awaySeconds: 15,
  } satisfies Scale,
}
