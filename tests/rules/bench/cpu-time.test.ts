import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { cpuSecondsOf, parentOf } from '../../bench/cpu-time.ts'

const compute = 'while (process.cpuUsage().user < 300_000);'

test('the CPU time of a process includes what it has started, also after that has ended', async () => {
  const child = spawn('sh', ['-c', `"$0" -e '${compute}'; echo done; exec sleep 60`, process.execPath], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const pid = child.pid ?? 0
  await once(child.stdout, 'data')
  expect(await cpuSecondsOf(pid)).toBeGreaterThan(0.25)
  expect(await cpuSecondsOf(pid)).toBeLessThan(10)
  expect(await parentOf(pid)).toBe(process.pid)
})

test('the CPU time of another process is not counted', async () => {
  const idle = spawn('sleep', ['60'])
  onTestFinished(() => void idle.kill('SIGKILL'))
  await once(idle, 'spawn')
  expect(await cpuSecondsOf(idle.pid ?? 0)).toBeLessThan(0.1)
})
