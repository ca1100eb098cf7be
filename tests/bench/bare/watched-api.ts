/** The API, which tells by the signal SIGUSR2 how much memory it has had at most since the last one. */
const lookEveryMs = 2
let peakBytes = 0
let peakRssBytes = 0

setInterval(() => {
  const { heapUsed, external, rss } = process.memoryUsage()
  peakBytes = Math.max(peakBytes, heapUsed + external)
  peakRssBytes = Math.max(peakRssBytes, rss)
}, lookEveryMs).unref()

await import('../../../src/server.ts')

// It would end at this one as at the others.
process.removeAllListeners('SIGUSR2')
process.on('SIGUSR2', () => {
  console.log(JSON.stringify({ event: 'memory', peakBytes, peakRssBytes }))
  peakBytes = 0
  peakRssBytes = 0
})
