import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { nowMs } from './clock.ts'
import type { Program } from './program.ts'
import type { ProviderCall } from './provider-program.ts'

export type { ProviderCall } from './provider-program.ts'

/** A filter of calls; by default all. */
export interface Choice {
  path?: string
  exceptContact?: string
}

/** A client of the provider's process. */
export interface Provider {
  urlOf(path: string): string
  mailPort: number
  calls(choice?: Choice): Promise<ProviderCall[]>
  count(choice?: Choice): Promise<number>
  /** Waits until it got this many calls, or until the time-out. @returns whether it got them. */
  gets(count: number, choice: Choice, withinMs: number): Promise<boolean>
  /** Returns the calls and forgets them, but not which sends have failed. */
  takeCalls(): Promise<ProviderCall[]>
  forget(): Promise<void>
  close(): Promise<void>
}

/** Seldom, because polling takes CPU from the measurement. */
const askEveryMs = 100

export function openProvider({ ready }: Program): Provider {
  const origin = `http://127.0.0.1:${ready.port}`
  const pool = new Pool(origin, { connections: 1 })
  const ask = async (method: 'GET' | 'DELETE', path: string, choice: Choice = {}) => {
    const { body } = await pool.request({ method, path, query: { ...choice } })
    return await body.json()
  }
  const count = async (choice?: Choice) => (await ask('GET', '/count', choice)) as number
  return {
    urlOf: (path) => origin + path,
    mailPort: Number(ready.mailPort),
    calls: async (choice) => (await ask('GET', '/calls', choice)) as ProviderCall[],
    count,
    async gets(wanted, choice, withinMs) {
      for (const deadline = nowMs() + withinMs; nowMs() < deadline; await sleep(askEveryMs)) {
        if ((await count(choice)) >= wanted) return true
      }
      return false
    },
    takeCalls: async () => (await ask('GET', '/take', {})) as ProviderCall[],
    forget: async () => {
      await ask('DELETE', '/calls')
    },
    close: () => pool.close(),
  }
}
