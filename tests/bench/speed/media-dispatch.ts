import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { maxMediaBytes } from '../../../src/core/messages/message-body.ts'
import { newContact } from '../../support/builders.ts'
import { alternate } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import type { Post } from '../post.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage, type Stage } from '../stage.ts'
import type { Case } from './case.ts'
import { atMost } from './ratio.ts'

const accounts = 10
/** Its provider reads the body, and keeps nothing of it. */
const path = '/discard/media'
const withinMs = 600_000

/** How much memory a worker takes when many sends of the largest media are due at once. */
export const mediaDispatch: Case = {
  name: 'media-dispatch',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    try {
      const senders = await openChannels(await openAccounts(stage, accounts), path)
      const resident: Figure = { variant: 'at most', unit: ' MiB', values: [] }
      await alternate(runs, [
        async () => {
          const { mebibytes, seconds } = await residentAtMost(stage, postsOf(senders, sizes.mediaAtOnce))
          resident.values.push(mebibytes)
          print(`media-dispatch: ${mebibytes.toFixed(0)} MiB, ${(sizes.mediaAtOnce / seconds).toFixed(1)}/s`)
        },
      ])
      const measured = `resident memory of a worker, ${sizes.mediaAtOnce} sends of 16 MiB due at once`
      return [atMost('media-dispatch', measured, resident, { floor: 1024, aim: 600 })]
    } finally {
      await stage.close()
    }
  },
}

function postsOf(senders: readonly Post['sender'][], count: number): Post[] {
  const message = {
    type: 'media',
    media: { mediaType: 'document', base64: Buffer.from('x').toString('base64') },
  }
  return Array.from({ length: count }, (_, index) => ({
    sender: senders[index % senders.length] as Post['sender'],
    contact: newContact(),
    message,
  }))
}

async function residentAtMost(stage: Stage, posts: readonly Post[]) {
  await stage.clear()
  await stage.client.postAll(posts)
  await makeLarge(stage)
  await stage.startWorkers(1)
  const startedAt = performance.now()
  if (!(await stage.provider.gets(posts.length, { path }, withinMs)))
    throw new Error('not all media were sent')
  const seconds = (performance.now() - startedAt) / 1000
  const [worker] = stage.workers()
  const status = await readFile(`/proc/${worker?.pid}/status`, 'utf8')
  // The kernel's high-water mark.
  return { mebibytes: Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024, seconds }
}

/** Makes the media large, of random bytes as real media are: PostgreSQL can't compress these. */
async function makeLarge({ db }: Stage): Promise<void> {
  const { rows } = await db.$client.query<{ id: string }>('select request_id as id from media')
  for (const { id } of rows) {
    await db.$client.query('update media set content = $1 where request_id = $2', [
      randomBytes(maxMediaBytes),
      id,
    ])
    // Each time: a checkpoint of all of it takes longer than a query may.
    await db.$client.query('checkpoint')
  }
  await db.$client.query(
    `update sends set message = jsonb_set(message, '{media,sizeBytes}', to_jsonb($1::int)) where message_type = 'media'`,
    [maxMediaBytes],
  )
}
