// Run by reaper.ts as a process of its own, in plain JavaScript so that it starts in milliseconds. It reads from stdin which
// processes to watch. When stdin ends, the parent has ended, so it ends the processes that are still watched, then itself.
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

// So that `killall -9 node`, which goes by the title, doesn't kill this process.
process.title = 'embedded-reaper'

/** @type {Map<number, { signal: string, folder?: string, startedAt?: string }>} */
const watched = new Map()

// Ignored, because a shutdown signals whole process groups, and this process must end last.
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
  for (const [step, withinMs] of [
    [signal, 5_000],
    ['SIGKILL', 1_000],
  ]) {
    if (!isRunning(pid, startedAt)) return
    try {
      process.kill(pid, step)
    } catch {
      return
    }
    for (const deadline = Date.now() + withinMs; Date.now() < deadline; await sleep(20)) {
      if (!isRunning(pid, startedAt)) return
    }
  }
}

/** Whether the pid is still the process that was watched, and not a zombie or another process with the same pid. */
function isRunning(pid, startedAt) {
  try {
    process.kill(pid, 0)
    if (process.platform !== 'linux') return true
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')
    return fields[0] !== 'Z' && fields[19] === startedAt
  } catch {
    return false
  }
}
