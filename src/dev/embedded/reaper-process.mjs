// Run by reaper.ts as a process of its own, in plain JavaScript so that it is up in milliseconds. It learns on stdin
// what to watch; when stdin ends, the parent is gone, in whatever way: it ends what is still watched, then itself.
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

// `killall -9 node` goes by this name, and shall not find us.
process.title = 'embedded-reaper'

/** @type {Map<number, { signal: string, folder?: string, startedAt?: string }>} */
const watched = new Map()

// A shutdown signals whole groups of processes; this one must be the last to go.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})

for await (const line of createInterface({ input: process.stdin })) {
  const { pid, forget, ...how } = JSON.parse(line)
  if (forget) watched.delete(pid)
  else watched.set(pid, how)
}

await Promise.all([...watched].map(end))
for (const { folder } of watched.values()) {
  if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {})
}

async function end([pid, { signal, startedAt }]) {
  for (const [step, timeouts] of [
    [signal, 5_000],
    ['SIGKILL', 1_000],
  ]) {
    if (!lives(pid, startedAt)) return
    try {
      process.kill(pid, step)
    } catch {
      return
    }
    for (const deadline = Date.now() + timeouts; Date.now() < deadline; await sleep(20)) {
      if (!lives(pid, startedAt)) return
    }
  }
}

/** Whether the pid still is the process it was when the watch began, and not a reused number or a zombie. */
function lives(pid, startedAt) {
  try {
    process.kill(pid, 0)
    if (process.platform !== 'linux') return true
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')
    return fields[0] !== 'Z' && fields[19] === startedAt
  } catch {
    return false
  }
}
