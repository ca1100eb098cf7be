import { readdir, readFile } from 'node:fs/promises'

/** Of the kernel's counts in /proc, on every Linux. */
const ticksPerSecond = 100
const [parent, firstTime, times] = [1, 11, 4]

/**
 * What all processes that this one has started, and theirs in turn, have used of the processors until now, by the kernel's
 * count: the service, its stores, the provider and what puts load on them. This process isn't counted.
 */
export async function cpuSeconds(): Promise<number> {
  const stats = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => [pid, await statOf(pid)] as const),
  )
  const found = new Map(stats.filter((entry): entry is [string, string[]] => entry[1] !== undefined))
  const isOurs = (pid: string): boolean => {
    const above = found.get(pid)?.[parent]
    return above !== undefined && (above === String(process.pid) || isOurs(above))
  }
  const ticksOf = (stat: string[], first: number, count: number) =>
    stat.slice(first, first + count).reduce((sum, ticks) => sum + Number(ticks), 0)
  let ticks = 0
  for (const [pid, stat] of found) {
    if (isOurs(pid)) ticks += ticksOf(stat, firstTime, times)
    // Of those that have ended, by the count of who waited for them.
    else if (pid === String(process.pid)) ticks += ticksOf(stat, firstTime + 2, 2)
  }
  return ticks / ticksPerSecond
}

/** The fields after the process's name, which may hold spaces; undefined if it has ended meanwhile. */
async function statOf(pid: string): Promise<string[] | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')
}
