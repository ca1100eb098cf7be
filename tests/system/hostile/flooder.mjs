// A thread that floods a process (./flood.ts): the checks beside it don't wait for what the flood costs its sender.
import { once } from 'node:events'
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

const { port, bytes, connections, isHalfClosed, reads } = workerData
const sockets = Array.from({ length: connections }, () =>
  connect({ port, host: '127.0.0.1', allowHalfOpen: true }),
)
for (const socket of sockets) {
  socket.pause()
  socket.on('error', () => {})
}
await Promise.all(sockets.map((socket) => once(socket, 'connect')))
parentPort.postMessage('connected')
await once(parentPort, 'message')
for (const socket of sockets) {
  socket.write(bytes)
  if (isHalfClosed) socket.end()
  if (reads === 'slowly') setInterval(() => socket.read(1), 1000)
}
