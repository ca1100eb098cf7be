import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { debianBinary } from '../../src/dev/embedded/debian-binary.ts'
import type { Sender } from './post.ts'

const script = join(import.meta.dirname, 'wrk.lua')
/** More than the requests of one load, so that no contact gets two. */
const requests = 100_000

export interface WrkLoad {
  url: string
  senders: readonly Sender[]
  connections: number
  seconds: number
  /** Messages of a request; more than one are a batch. Default: one. */
  messages?: number
}

export interface WrkResult {
  perSecond: number
  p50Ms: number
  p99Ms: number
}

/** Puts load on an API by a separate program. @param folder for its input files. */
export function openWrk(folder: string): (load: WrkLoad) => Promise<WrkResult> {
  let asked = 0
  return async ({ url, senders, connections, seconds, messages = 1 }) => {
    const { file, env } = await wrkBinary()
    const sendersFile = join(folder, `senders-${++asked}`)
    const lines = senders.map(({ apiKey, channelId }) => `${apiKey} ${channelId}\n`)
    await writeFile(sendersFile, lines.join(''), { mode: 0o600 })
    // Other contacts in each load.
    const contacts = `4915${String(asked).padStart(3, '0')}`
    const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script]
    const { stdout } = await promisify(execFile)(
      file,
      [...options, url, sendersFile, contacts, String(requests / messages), String(messages)],
      { env: { ...process.env, ...env } },
    )
    const { count, failed, micros, p50, p99 } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    if (failed > 0) throw new Error(`${url}: ${failed} of ${count} requests failed`)
    return { perSecond: (count * 1e6) / micros, p50Ms: p50 / 1000, p99Ms: p99 / 1000 }
  }
}

function wrkBinary() {
  return debianBinary({
    what: 'wrk',
    names: ['wrk'],
    package: { choices: [['wrk']], withDependencies: true },
    versionStatus: 1,
    advice: 'put it on PATH, e.g. with `apt-get install wrk`.',
  })
}
