import { newContact } from '../../support/builders.ts'
import { groupBy } from '../../support/group-by.ts'
import { alternate } from '../benchmark.ts'
import { type Figure, percentile } from '../figures.ts'
import type { MediaAnswers, MediaLoad } from '../media-load-program.ts'
import { openClient, type Sender } from '../post.ts'
import type { Program } from '../program.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage, type Stage } from '../stage.ts'
import type { Case } from './case.ts'
import { atMost } from './ratio.ts'

const smallPerSecond = 200
const largePerSecond = 2
const largeAtOnce = 32
/** The beginning of a load isn't measured. */
const warmUpSeconds = 2

/** Media of 16 MiB: its effect on small sends, and its memory. */
export const media: Case = {
  name: 'media',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    try {
      const senders = await openChannels(await openAccounts(stage, 8), '/accept/speed')
      const postMedia = await openMediaLoad(stage, senders)
      const small: Figure = { variant: 'p99', unit: ' ms', values: [] }
      const memory: Figure = { variant: 'peak', unit: ' MiB', values: [] }
      const refused: Figure = { variant: 'refused', unit: '', values: [] }
      const watched = await stage.startApi('watchedApi')

      const beside = async () => {
        await stage.clear()
        const seconds = warmUpSeconds + 2 * sizes.seconds
        const url = stage.api.url
        const [latencies, answers] = await Promise.all([
          smallLatencies(url, senders, seconds),
          postMedia({ url, perSecond: largePerSecond, count: largePerSecond * seconds }),
        ])
        small.values.push(percentile(latencies, 0.99))
        const [p50, p99] = [0.5, 0.99].map((part) => percentile(latencies, part).toFixed(1))
        print(`media: small beside large: p50 ${p50} ms, p99 ${p99} ms; large: ${inWords(answers)}`)
      }
      const atOnce = async () => {
        await stage.clear()
        const peak = await peakOf(watched.program, async () => {
          const answers = await postMedia({ url: watched.url, count: largeAtOnce })
          refused.values.push(answers.filter(({ status }) => status !== 202).length)
          print(`media: at once: ${inWords(answers)}`)
        })
        memory.values.push(peak.mebibytes)
        print(
          `media: at once: ${peak.mebibytes.toFixed(0)} MiB, resident ${peak.residentMebibytes.toFixed(0)} MiB`,
        )
      }
      await alternate(runs, [beside, atOnce])
      return [
        atMost('media', `accepts, ${smallPerSecond}/s, beside ${largePerSecond}/s of 16 MiB`, small, {
          floor: 150,
          aim: 40,
        }),
        atMost('media', `heap and external memory, ${largeAtOnce} at once of 16 MiB`, memory, {
          floor: 1024,
          aim: 500,
        }),
        atMost('media', `refused of these ${largeAtOnce}`, refused, { floor: 0, aim: 0 }),
      ]
    } finally {
      await stage.close()
    }
  },
}

/** The times from each request to its 202, after the warm-up. */
async function smallLatencies(url: string, senders: readonly Sender[], seconds: number): Promise<number[]> {
  const client = openClient(url)
  const postOf = (index: number) => ({
    sender: senders[index % senders.length] as Sender,
    contact: newContact(),
  })
  const count = smallPerSecond * seconds
  const [accepted = []] = await client.postSteadily([{ perSecond: smallPerSecond, count, postOf }])
  await client.close()
  return accepted
    .slice(smallPerSecond * warmUpSeconds)
    .map(({ postedAt, acceptedAt }) => acceptedAt - postedAt)
}

/** Sends large media to an API by a separate program. */
async function openMediaLoad(stage: Stage, [sender]: readonly Sender[]) {
  const program = await stage.start('mediaLoad')
  let loads = 0
  return async (load: Pick<MediaLoad, 'url' | 'count' | 'perSecond'>): Promise<MediaAnswers> => {
    const asked = { ...load, ...sender, contacts: `1${String(++loads).padStart(4, '0')}` }
    const answer = await fetch(`http://127.0.0.1:${program.ready.port}`, {
      method: 'POST',
      body: JSON.stringify(asked),
    })
    return (await answer.json()) as MediaAnswers
  }
}

async function peakOf(api: Program, work: () => Promise<void>) {
  api.signal('SIGUSR2')
  await api.logged('memory')
  await work()
  api.signal('SIGUSR2')
  const { peakBytes, peakRssBytes } = await api.logged('memory')
  const mebibytes = (bytes: unknown) => Number(bytes) / 1024 ** 2
  return { mebibytes: mebibytes(peakBytes), residentMebibytes: mebibytes(peakRssBytes) }
}

function inWords(answers: MediaAnswers): string {
  const statuses = groupBy(answers, ({ status }) => String(status))
  const counts = [...statuses].map(([status, { length }]) => `${length} × ${status}`)
  const slowest = Math.max(...answers.map(({ ms }) => ms))
  return `${counts.join(', ')}, in ${slowest.toFixed(0)} ms at most`
}
