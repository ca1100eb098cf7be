// Starts the command that it is given as node-foreman (nf) starts one of a Procfile: by a shell, with pipes for its output; at SIGINT it sends one too.
import { spawn } from 'node:child_process'

const child = spawn('/bin/sh', ['-c', process.argv[2]])
child.stdout.pipe(process.stdout)
child.stderr.pipe(process.stderr)
process.once('SIGINT', () => child.kill('SIGINT'))
child.once('exit', (code) => {
  process.exitCode = code ?? 1
})
