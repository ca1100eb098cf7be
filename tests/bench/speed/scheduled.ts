import type { Stage } from '../stage.ts'
import type { Case } from './case.ts'
import { besideEmpty } from './growth.ts'
import { withItsRows } from './history.ts'
import { ratio } from './ratio.ts'

const rowsAtOnce = 200_000
const bounds = { floor: 0.97, aim: 0.99 }

/** The cost of sends that are scheduled for later to others. */
export const scheduled: Case = {
  name: 'scheduled',
  async measure(conditions) {
    const { scheduled: count } = conditions.sizes
    const { accept, dispatch } = await besideEmpty((stage) => withScheduled(stage, count), conditions)
    const words = `${count.toLocaleString('en')} scheduled ÷ empty`
    return [
      ratio('scheduled', `accept, ${words}`, { ...accept, ...bounds }),
      ratio('scheduled', `dispatch, ${words}`, { ...dispatch, ...bounds }),
    ]
  },
}

async function withScheduled(stage: Stage, count: number): Promise<Stage> {
  const { apiKey: _, channelId } = await (await stage.openAccount()).openChannel('/accept/speed')
  for (let first = 1; first <= count; first += rowsAtOnce) {
    const last = Math.min(first + rowsAtOnce - 1, count)
    await stage.db.$client.query(insertScheduled, [channelId, first, last])
  }
  return await withItsRows(stage)
}

const insertScheduled = `
  insert into scheduled_sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                               close_conversation, send_at)
  select uuidv7(), account_id, id, 'phone', '+33' || lpad(n::text, 9, '0'), 'text',
         '{"type": "text", "text": {"value": "Hello"}}', false, now() + interval '1 day' + random() * interval '29 days'
  from generate_series($2::int, $3::int) n, channels where id = $1`
