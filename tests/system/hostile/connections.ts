import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  status: number
  /** By their names in lower case. */
  headers: Map<string, string>
  body: Buffer
  sizeBytes: number
}

/** Connections that are kept open between requests, as many as there are requests at once. */
export interface Connections {
  /** @param isBodyless of an answer to HEAD. */
  exchange(request: Buffer, isBodyless: boolean): Promise<RawAnswer>
  close(): void
}

export function openConnections(port: number): Connections {
  const idle: Socket[] = []
  const open = new Set<Socket>()

  const freeSocket = async (): Promise<Socket> => {
    for (let socket = idle.pop(); socket; socket = idle.pop())
      if (!socket.destroyed && socket.writable) return socket
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    open.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => open.delete(socket))
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return socket
  }

  return {
    async exchange(request, isBodyless) {
      const socket = await freeSocket()
      const answer = await answerOn(socket, request, isBodyless)
      if (answer.headers.get('connection') === 'close') socket.destroy()
      else idle.push(socket)
      return answer
    },
    close() {
      for (const socket of open) socket.destroy()
    },
  }
}

function answerOn(socket: Socket, request: Buffer, isBodyless: boolean): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0)
    const settle = (work: () => void) => {
      socket.off('data', take)
      socket.off('close', fail)
      work()
    }
    const take = (part: Buffer) => {
      received = received.length === 0 ? part : Buffer.concat([received, part])
      try {
        const answer = parse(received, isBodyless)
        if (answer) settle(() => resolve(answer))
      } catch (error) {
        settle(() => reject(error))
      }
    }
    const fail = () =>
      settle(() =>
        reject(new Error(`closed without an answer, after ${JSON.stringify(received.toString())}`)),
      )
    socket.on('data', take)
    socket.once('close', fail)
    socket.write(request)
  })
}

/** The answer, once all of it has arrived. */
function parse(received: Buffer, isBodyless: boolean): RawAnswer | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [statusLine = '', ...lines] = received.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  const rest = received.subarray(end + 4)
  if (status === 100) return parse(rest, isBodyless)
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
    }),
  )
  const body = isBodyless ? rest : bodyOf(rest, headers)
  return body && { status, headers, body, sizeBytes: received.length }
}

function bodyOf(rest: Buffer, headers: Map<string, string>): Buffer | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return dechunked(rest)
  const length = Number(headers.get('content-length'))
  if (Number.isNaN(length) || rest.length > length) throw new Error(`not of its length: ${rest.toString()}`)
  return rest.length === length ? rest : undefined
}

function dechunked(rest: Buffer): Buffer | undefined {
  const lineEnd = rest.indexOf('\r\n')
  if (lineEnd < 0) return undefined
  const size = Number.parseInt(rest.toString('latin1', 0, lineEnd), 16)
  const start = lineEnd + 2
  const next = start + size + 2
  if (rest.length < next) return undefined
  if (size === 0) return Buffer.alloc(0)
  const after = dechunked(rest.subarray(next))
  return after && Buffer.concat([rest.subarray(start, start + size), after])
}
