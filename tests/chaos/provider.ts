import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Reaper } from '../../src/dev/embedded/index.ts'
import type { Behaviours, ProviderCall } from './behaviours.ts'

const program = fileURLToPath(new URL('./provider-program.ts', import.meta.url))
const projectRoot = fileURLToPath(new URL('../..', import.meta.url))

/** To the provider's process. */
export type Order =
  | { kind: 'open'; path: string; seed: number }
  | { kind: 'behave'; path: string; name: keyof Behaviours; args: unknown[] }
  | { kind: 'sync' }

/** A call, and its place in the ledger of its path. */
export interface RecordedCall {
  path: string
  index: number
  call: ProviderCall
}

/** From the provider's process. */
export type Report =
  | { kind: 'listening'; port: number }
  | { kind: 'calls'; calls: RecordedCall[] }
  | { kind: 'synced' }

/** The provider of one channel: the calls it got, in order. */
export interface ProviderLedger {
  calls: ProviderCall[]
  /** Called at each call, when it is in the ledger. */
  onCall: (call: ProviderCall) => unknown
  /** From now on it treats calls like that. By default it accepts them. */
  behave<Name extends keyof Behaviours>(name: Name, ...args: Parameters<Behaviours[Name]>): void
}

/** A webhook receiver that records every call in the ledger of its path. */
export interface RecordingProvider {
  urlOf(path: string): string
  /** @param seed of what the provider does at random. */
  open(path: string, seed: number): ProviderLedger
  /** Resolves when the ledgers have all calls until now. */
  synced(): Promise<void>
  stop(): Promise<void>
}

export async function startProvider(reaper: Reaper): Promise<RecordingProvider> {
  const child = fork(program, {
    cwd: projectRoot,
    execArgv: ['--import', 'tsx'],
    // In a group of its own, so that Ctrl-C reaches only this process.
    detached: true,
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${program} could not be started`)
  reaper.watch(pid)
  const exited = once(child, 'exit').then(() => reaper.forget(pid))
  const ledgers = new Map<string, ProviderLedger>()
  const order = (message: Order) => void child.send(message)
  const died = exited.then(() => Promise.reject(new Error(`${program} ended`)))
  // Thrown where somebody waits for it; else calls fail, which the ledgers show.
  died.catch(() => {})
  const reported = <Kind extends Report['kind']>(kind: Kind) =>
    new Promise<Extract<Report, { kind: Kind }>>((resolve) => {
      const listen = (message: Report) => {
        if (message.kind !== kind) return
        child.off('message', listen)
        resolve(message as Extract<Report, { kind: Kind }>)
      }
      child.on('message', listen)
    })
  child.on('message', (message: Report) => {
    if (message.kind === 'calls') for (const one of message.calls) record(ledgers.get(one.path), one)
  })
  const { port } = await Promise.race([reported('listening'), died])
  return {
    urlOf: (path) => `http://127.0.0.1:${port}${path}`,
    open(path, seed) {
      const ledger: ProviderLedger = {
        calls: [],
        onCall: () => {},
        behave: (name, ...args) => order({ kind: 'behave', path, name, args }),
      }
      ledgers.set(path, ledger)
      order({ kind: 'open', path, seed })
      return ledger
    },
    async synced() {
      const synced = reported('synced')
      order({ kind: 'sync' })
      await Promise.race([synced, died])
    },
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

function record(ledger: ProviderLedger | undefined, { index, call }: RecordedCall): void {
  const known = ledger?.calls[index]
  if (known) Object.assign(known, call)
  else if (ledger) {
    ledger.calls.push(call)
    ledger.onCall(call)
  }
}
