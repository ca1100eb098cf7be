import { chmod, chown, mkdir } from 'node:fs/promises'

/** "nobody" on Linux: PostgreSQL refuses to run as root, and a Redis without a password must not run as root. */
const nobody = { uid: 65534, gid: 65534 }

/** The user that runs the servers: "nobody" if this process is root, else the current user (empty). */
export function serverUser(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? nobody : {}
}

/** Makes `folder`, accessible only to the servers' user. That user needs access to its parents. */
export async function makeServerFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const { uid, gid } = serverUser()
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid)
  await chmod(folder, 0o700)
}
