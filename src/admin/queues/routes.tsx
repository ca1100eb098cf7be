import { causeLine } from '../../core/store-causes.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { formatCount } from '../numbers/spans.ts'
import { type Column, DataTable } from '../page/data-table.tsx'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import { allow } from '../people/allow.ts'
import {
  descriptions,
  type JobState,
  jobStates,
  type ReadQueue,
  type ReadShard,
  readQueues,
} from './read-queues.ts'

const refreshSeconds = 5

/**
 * The queue board (docs/reference/admin.md#queue-board). It only shows: a job is only a wake-up, so removing or retrying one would at
 * most delay its send.
 */
export function queueBoard(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  app.get('/', allow('operator'), async (c) => {
    const updates = c.req.query('updates') === 'on'
    return c.html(<QueuePage shards={await readQueues(runtime)} updates={updates} />)
  })
  return app
}

function QueuePage({ shards, updates }: { shards: readonly ReadShard[]; updates: boolean }) {
  return (
    <Layout title="Queues" at="/queues" refreshSeconds={updates ? refreshSeconds : undefined}>
      <PageHead
        title="Queues"
        about="Each job is a wake-up of a send or an endpoint, which PostgreSQL holds. Workers add what is missing within seconds."
      >
        <a class="button" href={updates ? '/queues' : '/queues?updates=on'}>
          {updates ? 'Stop updating' : `Update every ${refreshSeconds} s`}
        </a>
      </PageHead>
      {shards.map((shard) => (
        <ShardSection shard={shard} isOnly={shards.length === 1} />
      ))}
    </Layout>
  )
}

function ShardSection({ shard: { shard, queues, cause }, isOnly }: { shard: ReadShard; isOnly: boolean }) {
  const id = `shard-${shard}`
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{isOnly ? 'In Redis' : `Shard ${shard}`}</h2>
      {cause && (
        <p class="fault">{causeLine(cause)}. Sends are kept in PostgreSQL, and go when Redis works again.</p>
      )}
      {queues && <QueueTable queues={queues} />}
    </section>
  )
}

type PlacedQueue = ReadQueue & { place: number }

const ofState = (state: JobState): Column<PlacedQueue> => ({
  name: state,
  isNumber: true,
  classOf: ({ counts }) => (state === 'failed' && counts.failed > 0 ? 'fault' : undefined),
  cell: ({ counts }) => formatCount(counts[state]),
})

const QueueTable = ({ queues }: { queues: readonly ReadQueue[] }) => (
  <DataTable
    label="Queues"
    rows={queues.map((queue, place) => ({ ...queue, place }))}
    idOf={({ queue }) => queue}
    columns={[
      {
        name: 'Queue',
        cell: ({ queue, place }) => (
          <>
            <b>{queue}</b> <small class="below">{descriptions[place]}</small>
          </>
        ),
      },
      ...jobStates.map(ofState),
      { name: 'Oldest since', cell: ({ oldest }) => (oldest ? <Moment at={oldest} short /> : '–') },
    ]}
  />
)
