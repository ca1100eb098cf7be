/** The API. On SIGUSR2 it reports its peak memory since the last report. */
const lookEveryMs = 2
let peakBytes = 0
let peakRssBytes = 0

setInterval(() => {
  const { heapUsed, external, rss } = process.memoryUsage()
  peakBytes = Math.max(peakBytes, heapUsed + external)
  peakRssBytes = Math.max(peakRssBytes, rss)
}, lookEveryMs).unref()

await import('../../../src/server.ts')

// Otherwise this signal would end the process.
process.removeAllListeners('SIGUSR2')
process.on('SIGUSR2', () => {
  console.log(JSON.stringify({ event: 'memory', peakBytes, peakRssBytes }))
  peakBytes = 0
  peakRssBytes = 0
})
