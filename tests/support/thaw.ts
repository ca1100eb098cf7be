/** Lets a process go on that was stopped by SIGSTOP, if it still runs. */
export function thaw(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
