import { causeLine } from '../../core/store-causes.ts'
import { type AdminApp, type AdminRuntime, factory } from '../context.ts'
import { formatCount } from '../numbers/spans.ts'
import { Moment } from '../page/inline-elements.tsx'
import { Layout } from '../page/layout.tsx'
import { allow } from '../people/allow.ts'
import { descriptions, jobStates, type ReadShard, readQueues } from './read-queues.ts'

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
      <h1>Queues</h1>
      <p>
        Each job is a wake-up of a send or an endpoint, which PostgreSQL holds. Workers add what is missing
        within seconds.{' '}
        {updates ? (
          <a href="/queues">Stop updating</a>
        ) : (
          <a href="/queues?updates=on">Update every {refreshSeconds} s</a>
        )}
      </p>
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
      {queues && (
        <div class="scroll">
          <table class="numbers">
            <thead>
              <tr>
                <th scope="col">Queue</th>
                {jobStates.map((state) => (
                  <th scope="col">{state}</th>
                ))}
                <th scope="col">Oldest since</th>
              </tr>
            </thead>
            <tbody>
              {queues.map(({ queue, counts, oldest }, place) => (
                <tr>
                  <td class="words">
                    {queue} <small>{descriptions[place]}</small>
                  </td>
                  {jobStates.map((state) => (
                    <td
                      data-label={state}
                      class={state === 'failed' && counts.failed > 0 ? 'fault' : undefined}
                    >
                      {formatCount(counts[state])}
                    </td>
                  ))}
                  <td data-label="Oldest since">{oldest ? <Moment at={oldest} /> : '–'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
