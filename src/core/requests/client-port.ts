/** Lower ports belong to services of the system, such as mail, which a request could be made to talk to. */
const firstUserPort = 1024
const webPorts = [80, 443]

export const clientPortIssue = `has to use port 80, 443 or one from ${firstUserPort} on`

/** Whether a URL given by a client may have this port. Without one it uses its protocol's. */
export function isClientPort(port: string): boolean {
  return port === '' || webPorts.includes(Number(port)) || Number(port) >= firstUserPort
}
