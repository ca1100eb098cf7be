import pg from 'pg'
import type { Message } from '../../../src/core/messages/message.ts'
import type { SendRequest } from '../../../src/core/sends/send-request.ts'
import type { Settings } from '../../../src/platform/settings/settings.ts'

export function connectPool(settings: Settings): pg.Pool {
  return new pg.Pool({ connectionString: settings.DATABASE_URL, max: settings.DATABASE_POOL_SIZE })
}

export interface Caller {
  accountId: string
  permissions: string[]
  points: number | null
  seconds: number | null
}

export async function findCaller(pool: pg.Pool, hash: Buffer): Promise<Caller | undefined> {
  const { rows } = await pool.query<Caller>({
    name: 'find_caller',
    text: `select k.account_id as "accountId", k.permissions, a.rate_limit_points as points,
                  a.rate_limit_seconds as seconds
           from api_keys k join accounts a on a.id = k.account_id
           where k.hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`,
    values: [hash],
  })
  return rows[0]
}

export async function findChannel(
  pool: pg.Pool,
  channelId: string,
  accountId: string,
): Promise<object | undefined> {
  const { rows } = await pool.query({
    name: 'find_channel',
    text: 'select id, provider from channels where id = $1 and account_id = $2',
    values: [channelId, accountId],
  })
  return rows[0]
}

export type NewSend = Pick<SendRequest, 'contact' | 'message' | 'flowId' | 'closeConversation'> & {
  requestId: string
  accountId: string
  channelId: string
}

export async function insertSend(pool: pg.Pool, send: NewSend): Promise<void> {
  const { requestId, accountId, channelId, contact, message, flowId, closeConversation } = send
  await pool.query({
    name: 'insert_send',
    text: `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, contact_name,
                              message_type, message, flow_id, close_conversation, lane)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, hashtextextended($11, 0))`,
    values: [
      requestId,
      accountId,
      channelId,
      contact.type,
      contact.value,
      contact.name,
      message.type,
      JSON.stringify(message),
      flowId,
      closeConversation,
      `${channelId} ${contact.type} ${contact.value}`,
    ],
  })
}

export interface ClaimedSend {
  channelId: string
  contact: { type: string; value: string }
  message: Message
  sealedConfig: string
}

export async function claimSend(
  pool: pg.Pool,
  requestId: string,
  worker: string,
): Promise<ClaimedSend | undefined> {
  const { rows } = await pool.query<ClaimedSend>({
    name: 'claim_send',
    text: `update sends s
           set status = 'sending', attempt = attempt + 1, worker = $2, claim_id = s.request_id, claimed_at = clock_timestamp()
           from channels c
           where s.request_id = $1 and s.status = 'queued' and c.id = s.channel_id
           returning s.channel_id as "channelId", json_build_object('type', s.contact_type, 'value', s.contact_value)
                     as contact, s.message, c.sealed_config as "sealedConfig"`,
    values: [requestId, worker],
  })
  return rows[0]
}

export async function recordOutcome(
  pool: pg.Pool,
  requestId: string,
  outcome: { status: 'sent' | 'failed'; record: object },
): Promise<void> {
  await pool.query({
    name: 'record_outcome',
    text: `update sends
           set status = $2, finished_at = clock_timestamp(), attempt_record = $3,
               failure = case when $2 = 'failed' then 'the provider refused it' end
           where request_id = $1`,
    values: [requestId, outcome.status, JSON.stringify(outcome.record)],
  })
}
