import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { insertSends } from '../../db/admission/accepts.ts'
import { claimSends } from '../../db/delivery/claims.ts'
import { findExplanation } from '../../db/sends/explanation.ts'
import { conditionOf } from '../../src/core/explanation/condition.ts'
import { buildTimeline } from '../../src/core/sends/timeline.ts'
import { buildNewSend } from '../support/batches.ts'
import { buildAccount } from '../support/builders.ts'
import { livingWorker } from '../support/living-worker.ts'
import { serviceOfFile, testSuppressionKey } from '../support/service.ts'

const service = await serviceOfFile()
await livingWorker(service, 'a')

interface Ids {
  send: string
  /** Accepted before it. */
  earlier: string
  channel: string
}

/** Obstacles of a send: the SQL that puts each in its way, and the SQL that removes it. */
const obstacles = {
  channel_deleted: {
    put: ({ channel }: Ids) =>
      `update channels set deleted_at = now(), held_at = now() where id = '${channel}'`,
    remove: ({ channel }: Ids) =>
      `update channels set deleted_at = null, held_at = null where id = '${channel}'`,
  },
  held: {
    put: ({ channel }: Ids) => `update channels set held_at = now() where id = '${channel}'`,
    remove: ({ channel }: Ids) => `update channels set held_at = null where id = '${channel}'`,
  },
  behind: {
    put: ({ send, earlier }: Ids) =>
      `update sends set lane = (select lane from sends where request_id = '${send}') where request_id = '${earlier}'`,
    remove: ({ earlier }: Ids) =>
      `update sends set status = 'sent', finished_at = now() where request_id = '${earlier}'`,
  },
  retry: {
    put: ({ send }: Ids) => `
      insert into send_events (request_id, event, fields) values ('${send}', 'retry_scheduled', '{}');
      update sends set next_attempt_at = now() + interval '1 hour' where request_id = '${send}'`,
    remove: ({ send }: Ids) => `update sends set next_attempt_at = now() where request_id = '${send}'`,
  },
  breaker_open: {
    put: ({ channel }: Ids) =>
      `update channels set breaker_open_until = now() + interval '1 hour' where id = '${channel}'`,
    remove: ({ channel }: Ids) => `update channels set breaker_open_until = null where id = '${channel}'`,
  },
  waits_for_permit: {
    put: ({ channel }: Ids) => `update channels set max_in_flight = 1 where id = '${channel}'`,
    remove: ({ send, channel }: Ids) => `
      insert into permits (request_id, channel_id, attempt, valid_until, is_probe)
      select request_id, channel_id, 1, now() + interval '1 hour', false
      from sends where request_id = '${send}' and not overflow;
      -- With a permit, it would not wait for the slow start either.
      update channels set max_in_flight = null
      where id = '${channel}' and exists (select from sends where request_id = '${send}' and overflow)`,
  },
  slow_start: {
    put: ({ send, channel }: Ids) => `
      update sends set overflow = true where request_id = '${send}';
      update channels set answered_at = null where id = '${channel}'`,
    remove: ({ channel }: Ids) => `update channels set answered_at = now() where id = '${channel}'`,
  },
}
type Obstacle = keyof typeof obstacles
const all = Object.keys(obstacles) as Obstacle[]

/** Every set of them, in the order in which the support page names them. A channel that is deleted is held, too. */
const sets = Array.from({ length: 2 ** all.length }, (_, bits) => all.filter((_one, n) => bits & (1 << n)))
  .filter((set) => !(set.includes('channel_deleted') && set.includes('held')))
  .map((set) => ({ set }))

async function conditionNow(requestId: string): Promise<string> {
  const found = await findExplanation(service.runtime.db, requestId)
  if (!found) throw new Error('The send is gone')
  const condition = conditionOf(buildTimeline(found.send, found.events, 'masked'), found.facts)
  return condition.kind === 'waiting' ? condition.name : condition.kind
}

test.each(sets)(
  'the support page names what keeps a send from being claimed, and nothing else: $set',
  async ({ set }) => {
    const { db } = service.runtime
    const account = await buildAccount(service)
    const [earlier, send] = [buildNewSend(account), buildNewSend(account)]
    await insertSends(db, [earlier, send])
    const ids = { send: send.requestId, earlier: earlier.requestId, channel: account.channelId }
    const isClaimed = async () =>
      (
        await claimSends(db, [ids.send], {
          id: uuidv7(),
          worker: 'a',
          suppressionKey: testSuppressionKey,
          inAnyOrder: false,
        })
      ).length === 1

    for (const obstacle of set) await db.$client.query(obstacles[obstacle].put(ids))
    for (const obstacle of set) {
      expect(await conditionNow(ids.send)).toBe(obstacle)
      expect(await isClaimed()).toBe(false)
      await db.$client.query(obstacles[obstacle].remove(ids))
    }
    // Whether a send has its permit by now, the page doesn't look.
    if (!set.includes('waits_for_permit') || set.includes('slow_start'))
      expect(await conditionNow(ids.send)).toBe('in_queue')
    expect(await isClaimed()).toBe(true)
  },
)
