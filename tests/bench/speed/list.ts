import { percentile } from '../figures.ts'
import { openStage, type Stage } from '../stage.ts'
import type { Case } from './case.ts'
import { atMost } from './ratio.ts'
import { timePages } from './time-pages.ts'

const typical = { floor: 50, aim: 20 }
const slowest = { floor: 1500, aim: 500 }

/** The time of a page of the sends of an account that has nearly all of them, with each filter. */
export const list: Case = {
  name: 'list',
  async measure({ sizes, print }) {
    const stage = await openStage()
    try {
      const { apiKey, channelId } = await (await stage.openAccount()).openChannel('/accept/speed')
      await grow(stage, channelId, sizes.listed)
      const filters = filtersOf(channelId)
      const results = []
      for (const [name, filter] of Object.entries(filters)) {
        const ms = await timePages(stage.api, apiKey, '/v1/messages', filter)
        const [p50, most] = [percentile(ms, 0.5), Math.max(...ms)]
        print(`list: ${name}: ${ms.length} pages, p50 ${p50.toFixed(1)} ms, slowest ${most.toFixed(0)} ms`)
        const words = `${name}, ${sizes.listed.toLocaleString('en')} sends`
        results.push(
          atMost('list', `page p50, ${words}`, { variant: 'p50', unit: ' ms', values: [p50] }, typical),
          atMost(
            'list',
            `slowest page, ${words}`,
            { variant: 'slowest', unit: ' ms', values: [most] },
            slowest,
          ),
        )
      }
      return results
    } finally {
      await stage.close()
    }
  },
}

/** One of each; the rare ones are found in many short pages. */
const filtersOf = (channelId: string): Record<string, Record<string, string>> => ({
  'no filter': {},
  channelId: { channelId },
  'status sent': { status: 'sent' },
  'status failed (1 in 10,000)': { status: 'failed' },
  'status queued (1 in 100,000)': { status: 'queued' },
  'delivery undelivered (1 in 10,000)': { delivery: 'undelivered' },
  'contact with few sends': { contact: '+331000001' },
  'contact with a tenth of all sends': { contact: '+33999999999' },
  'reference with few sends': { reference: 'r-17' },
  'reference with a tenth of all sends': { reference: 'campaign' },
  'flowId of none': { flowId: '01a1fde0-fa52-7fd1-93c5-6a1b4f3f4a10' },
  'a time in the middle': { acceptedTo: new Date(Date.now() - 15 * 86_400_000).toISOString() },
})

const rowsAtOnce = 200_000
/** Takes minutes for ten million rows. */
const vacuum = { text: 'vacuum analyze sends', query_timeout: 900_000 }

async function grow({ db }: Stage, channelId: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += rowsAtOnce) {
    await db.$client.query(
      `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                          close_conversation, status, finished_at, failure, delivery, delivery_at, accepted_at,
                          reference)
       select uuidv7(), account_id, id, 'phone',
              case when n % 10 = 0 then '+33999999999' else '+33' || 1000000 + n / 5 end, 'text',
              '{"type": "text", "text": {"value": "Hello"}}', false, state, case when state <> 'queued' then at end,
              case when state = 'failed' then 'refused' end,
              case when n % 10000 = 6 then 'undelivered' end, case when n % 10000 = 6 then at end, at,
              case when n % 10 = 1 then 'campaign' else 'r-' || n / 5 end
       from generate_series($2::int, $3::int) n, channels,
            lateral (select case when n % 100000 = 7 then 'queued' when n % 10000 = 5 then 'failed' else 'sent' end as state,
                            now() - interval '30 days' + n * interval '30 days' / $4::int as at) one
       where id = $1`,
      [channelId, first, Math.min(first + rowsAtOnce, count) - 1, count],
    )
  }
  await db.$client.query(vacuum)
}
