// Loaded into a process of the service by NODE_OPTIONS: moves its wall clock, and nothing else. On SIGWINCH it takes how far
// from a file of its own (tests/support/moved-clock.ts), and removes that to say that it has.
import { readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

const RealDate = Date
let aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0)
const now = () => RealDate.now() + aheadMs

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (_target, given, made) => Reflect.construct(RealDate, given.length > 0 ? given : [now()], made),
  get: (target, name) => (name === 'now' ? now : target[name]),
})

if (isMainThread && process.env.CLOCK_FOLDER) {
  const file = join(process.env.CLOCK_FOLDER, String(process.pid))
  process.on('SIGWINCH', () => {
    aheadMs = Number(readFileSync(file, 'utf8'))
    unlinkSync(file)
  })
}
