import { chmod, chown, mkdir } from 'node:fs/promises'

/** "nobody" on Linux: PostgreSQL refuses root, and a Redis without a password must not be root's. */
const nobody = { uid: 65534, gid: 65534 }

/** Whom the servers run as: nobody when we are root, else ourselves (nothing to set). */
export function serverUser(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? nobody : {}
}

/** Makes `folder`, private to whom the servers run as. Its parents must be there, and passable for that user. */
export async function makeServerFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const { uid, gid } = serverUser()
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid)
  await chmod(folder, 0o700)
}
