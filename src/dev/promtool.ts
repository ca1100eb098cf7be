import { spawnSync } from 'node:child_process'
import { runProcess } from '../platform/process/process.ts'
import { promtoolBinary } from './embedded/promtool-binary.ts'

await runProcess(async () => {
  const { file, env } = await promtoolBinary()
  const options = { stdio: 'inherit', env: { ...process.env, ...env } } as const
  process.exitCode = spawnSync(file, process.argv.slice(2), options).status ?? 1
})
