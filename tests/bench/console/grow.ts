import type { Database } from '../../../db/connection/client.ts'

export interface Sizes {
  sends: number
  accounts: number
  channels: number
  endpoints: number
}

export const sizesOf = (sends: number): Sizes => ({ sends, accounts: 2000, channels: 5000, endpoints: 2000 })

const rowsAtOnce = 200_000
/** The changes of ten seconds, in which none are added to the counters, at 3,000 sends a second. Here those sends count twice. */
const unfoldedSends = 30_000
/** Suppressions of one account, and of all together: lines of the audit, and refused requests. */
const entries = 100_000
const busyContact = '+4915112345678'
const sendsOfBusyContact = 1000

/**
 * Sends of the last week, of all channels and of as many contacts, but for one that has many: one in a hundred failed, one in a
 * thousand waits. Their counters are made from them, and have changes that aren't added up yet.
 *
 * @returns the pages to open.
 */
export async function grow(
  { $client }: Database,
  { sends, accounts, channels, endpoints }: Sizes,
  print: (progress: string) => void,
): Promise<string[]> {
  await $client.query(`
    insert into accounts (id, name) select uuidv7(), 'Account ' || n from generate_series(1, ${accounts}) n;
    insert into channels (id, account_id, provider, name, sealed_config, on_uncertain, held_at, breaker_open_until, breaker_opened_at)
    select uuidv7(), a.id, 'whatsapp-cloud', 'Channel ' || n, 'none', 'hold', case when n % 100 = 0 then now() end,
           case when n % 70 = 0 then now() end, case when n % 70 = 0 then now() end
    from generate_series(1, ${channels}) n
      join (select id, row_number() over (order by id) as place from accounts) a on a.place = 1 + n % ${accounts};
    insert into endpoints (id, account_id, url, sealed_secret, failing_since)
    select uuidv7(), a.id, 'https://hooks.example/' || n, 'none', case when n % 50 = 0 then now() end
    from generate_series(1, ${endpoints}) n
      join (select id, row_number() over (order by id) as place from accounts) a on a.place = 1 + n % ${accounts};
    create table places as select id, account_id, row_number() over (order by id) as place from channels;
    create index on places (place); analyze`)
  for (let first = 0; first < sends; first += rowsAtOnce) {
    await $client.query(
      `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                          close_conversation, status, finished_at, failure, attempt_record, accepted_at, counted_as)
       select uuidv7(), account_id, id, 'phone', case when is_busy then '${busyContact}' else '+49' || 1000000 + n end, 'text',
              '{"type": "text", "text": {"value": "Hello"}}', false, state, case when state <> 'queued' then at end,
              case when state = 'failed' then 'WhatsApp answered 400' end,
              case when state = 'failed' then '{"fault": "recipient", "providerCode": "131026", "outcome": "rejected"}'::json end,
              at, case state when 'queued' then 'waiting' when 'failed' then 'failed/recipient/131026' else state end
       from (select n, n % greatest($2::bigint / ${sendsOfBusyContact}, 1) = 0 as is_busy,
                    now() - interval '7 days' * (1 - n::float8 / $2) as at,
                    case when n % 1000 = 5 then 'queued' when n % 100 = 7 then 'failed' else 'sent' end as state,
                    1 + (n * 7919) % ${channels} as place
             from generate_series($1::bigint + 1, least($1::bigint + ${rowsAtOnce}, $2::bigint)) n) n
         join places using (place)`,
      [first, sends],
    )
    print(`console: ${Math.min(first + rowsAtOnce, sends).toLocaleString('en')} sends`)
  }
  await $client.query(`
    insert into send_counts (hour, channel_id, account_id, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled)
    select date_trunc('hour', accepted_at, 'UTC'), o.channel_id, o.account_id, count(*), count(*) filter (where status = 'sent'),
           0, 0, 0, count(*) filter (where status = 'failed'), 0, 0
    from sends cross join lateral (values (channel_id, account_id), ('00000000-0000-0000-0000-000000000000'::uuid,
      '00000000-0000-0000-0000-000000000000'::uuid)) o (channel_id, account_id)
    group by 1, 2, 3;
    insert into failure_counts (hour, channel_id, account_id, state, reason, code, sends)
    select hour, channel_id, account_id, 'failed', 'recipient', '131026', failed from send_counts where failed > 0`)
  await $client.query(
    `insert into send_count_changes (account_id, channel_id, hour, counted_as, change)
     select account_id, channel_id, date_trunc('hour', accepted_at, 'UTC'), change, 1
     from (select account_id, channel_id, accepted_at from sends order by seq desc limit $1) s
       cross join (values ('accepted'), ('sent')) c (change)`,
    [unfoldedSends],
  )
  await $client.query(`
    insert into suppressions (id, account_id, contact_type, contact_value, cause)
    select uuidv7(), account_id, 'phone', '+48' || 1000000 + n, 'manual'
    from generate_series(1, ${entries}) n join places on place = 1;
    insert into audit (id, by, via, action, target)
    select uuidv7(), 'ann', 'console', 'channel_held', id from generate_series(1, ${entries}) n join places on place = 1 + n % ${channels};
    insert into refused_requests (request_id, account_id, key_prefix, at, status, message, route, fields)
    select uuidv7(), account_id, 'omk_abc', now(), 422, 'contact.value: not a number', 'POST /v1/messages', '{contact,message}'
    from generate_series(1, ${entries}) n join places on place = 1 + n % ${channels}`)
  await $client.query('vacuum analyze')
  const { rows } = await $client.query<Record<'channel' | 'account' | 'endpoint' | 'send', string>>(
    `select c.id as channel, c.account_id as account, (select id from endpoints limit 1) as endpoint,
            (select request_id from sends where contact_value = '${busyContact}' limit 1) as send
     from channels c order by id limit 1`,
  )
  const [{ channel = '', account = '', endpoint = '', send = '' } = {}] = rows
  return [
    ...['/', '/?span=hour', '/?span=week', '/?skip=4950', `/?account=${account}`],
    ...['/channels', '/channels?name=nel 49', '/channels?state=held', `/channels/${channel}`],
    ...['/endpoints', `/endpoints/${endpoint}`, '/queues', '/support', `/support/${send}`],
    ...['/support?q=131026', `/support?q=${encodeURIComponent(busyContact)}`, `/contact?requestId=${send}`],
    ...[
      '/sends',
      '/sends?status=failed',
      `/sends?accountId=${account}&status=failed`,
      '/sends?status=queued',
    ],
    ...[
      `/sends?contact=${encodeURIComponent(busyContact)}`,
      `/suppressions?accountId=${account}`,
      '/refused',
      '/audit',
    ],
  ]
}
