/** A resource that this machine lacked for a connection, so that no call began. */
export interface OwnShortage {
  /** Names the error code. It is shown to clients, so it names nothing of the machine. */
  reason: string
  /** The step for an operator. */
  advice: string
}

/** An error of a connection; with `errors`, one of each address that was tried. */
export interface ConnectionError {
  code?: string | undefined
  address?: string | undefined
  errors?: readonly ConnectionError[]
}

const checkNetwork = "check the machine's network and its routes"

/** By the error codes of the operating system. Not EHOSTUNREACH, which says that the other host is off. */
const shortages: Record<string, { lack: string; advice: string }> = {
  EMFILE: {
    lack: 'the worker has no file descriptor left',
    advice: 'raise its limit of open files (ulimit -n, LimitNOFILE), or lower WORKER_CONCURRENCY',
  },
  ENFILE: {
    lack: 'the machine has no file descriptor left',
    advice: 'raise fs.file-max, or end what opens so many files',
  },
  EADDRNOTAVAIL: {
    lack: 'the machine has no port or address left to call from',
    advice: 'widen net.ipv4.ip_local_port_range, or spread the workers over more machines',
  },
  ENOBUFS: { lack: 'the machine has no buffers left', advice: 'give it more memory' },
  ENOMEM: { lack: 'the machine has no memory left', advice: 'give it more memory' },
  ENETUNREACH: { lack: 'the machine has no route', advice: checkNetwork },
  ENETDOWN: { lack: "the machine's network is down", advice: checkNetwork },
}

/**
 * The resource that this machine lacked, by the error of a connection; undefined if the error is another. All of several addresses must have
 * failed for it.
 *
 * @param givenBy of clients, a URL may name an address to which there is no route by design, such as one of IPv6: its calls fail.
 * @param isOnline whether the machine has a network at all.
 */
export function shortageOf(
  { errors, ...error }: ConnectionError,
  { givenBy = 'operators', isOnline }: { givenBy?: 'operators' | 'clients' | undefined; isOnline: boolean },
): OwnShortage | undefined {
  const all = errors ?? [error]
  const telling = givenBy === 'clients' && isOnline ? all.filter((one) => !hasNoRoute(one)) : all
  const lacks = telling.map(({ code = '' }) => ({ code, ...shortages[code] }))
  const [first] = lacks
  if (!first || !lacks.every(({ lack }) => lack)) return undefined
  return { reason: `${first.lack} (${first.code})`, advice: first.advice ?? '' }
}

const hasNoRoute = ({ code, address = '' }: ConnectionError) =>
  code === 'ENETUNREACH' || (code === 'EADDRNOTAVAIL' && address.includes(':'))
