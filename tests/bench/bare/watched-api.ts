/** The API, which tells by the signal SIGUSR2 how much memory it has had at most since the last one. */
const lookEveryMs = 2
let peakBytes = 0

setInterval(() => {
  const { heapUsed, external } = process.memoryUsage()
  peakBytes = Math.max(peakBytes, heapUsed + external)
}, lookEveryMs).unref()

process.on('SIGUSR2', () => {
  console.log(JSON.stringify({ event: 'memory', peakBytes }))
  peakBytes = 0
})

await import('../../../src/server.ts')
