import { Socket } from 'node:net'

/**
 * Records each address that this process tries to connect to, by TCP or TLS, when the system is asked to: not a name
 * that is only looked up.
 */
export function recordConnects(): { attempts: { address: string; port: number }[]; stop(): void } {
  const attempts: { address: string; port: number }[] = []
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
    this.on('connectionAttempt', (address: string, port: number) => attempts.push({ address, port }))
    return Reflect.apply(connect, this, args)
  }
  return {
    attempts,
    stop() {
      Socket.prototype.connect = connect
    },
  }
}
