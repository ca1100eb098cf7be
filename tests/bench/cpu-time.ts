import { readdir, readFile } from 'node:fs/promises'

/** Unit of the kernel's counts in /proc, on every Linux. */
const ticksPerSecond = 100
const [parent, firstTime, times] = [1, 11, 4]

type Stats = Map<string, string[]>

/**
 * CPU time of all processes that this one has started, and theirs in turn, until now, by the kernel's
 * count: the service, its stores, the provider and what puts load on them. This process isn't counted.
 */
export async function cpuSeconds(): Promise<number> {
  const stats = await allStats()
  const own = stats.get(String(process.pid)) ?? []
  return secondsOf(process.pid, stats) - ticksOf(own, 2) / ticksPerSecond
}

/** CPU time of one process and of those that it has started. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  return secondsOf(pid, await allStats())
}

/** The process that started this one. */
export async function parentOf(pid: number): Promise<number> {
  return Number((await statOf(String(pid)))?.[parent])
}

function secondsOf(root: number, stats: Stats): number {
  const isOurs = (pid: string): boolean => {
    const above = stats.get(pid)?.[parent]
    return pid === String(root) || (above !== undefined && isOurs(above))
  }
  let ticks = 0
  // Counts processes that have ended, too: the process that waited for them has their times.
  for (const [pid, stat] of stats) if (isOurs(pid)) ticks += ticksOf(stat, times)
  return ticks / ticksPerSecond
}

const ticksOf = (stat: string[], count: number) =>
  stat.slice(firstTime, firstTime + count).reduce((sum, ticks) => sum + Number(ticks), 0)

async function allStats(): Promise<Stats> {
  const stats = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => [pid, await statOf(pid)] as const),
  )
  return new Map(stats.filter((entry): entry is [string, string[]] => entry[1] !== undefined))
}

/** The fields after the process's name, which may hold spaces; undefined if it has ended meanwhile. */
async function statOf(pid: string): Promise<string[] | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')
}
