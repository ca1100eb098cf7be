import { join } from 'node:path'
import { type Reaper, startReaper, startRedisCluster } from '../../src/dev/embedded/index.ts'
import { temporaryFolder } from '../../src/dev/embedded/temporary-folder.ts'

let reaper: Reaper | undefined

/** An empty Redis Cluster, which has no databases to share. It ends with this process. */
export async function freshCluster(masters?: number): Promise<string> {
  reaper ??= startReaper()
  const folder = await temporaryFolder()
  const { url } = await startRedisCluster(
    { folder: join(folder, 'redis'), reaper, folderToRemove: folder },
    masters,
  )
  return url
}
