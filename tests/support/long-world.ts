import { eq } from 'drizzle-orm'
import { createAccount } from '../../db/accounts/accounts.ts'
import { holdChannel, updateChannel } from '../../db/accounts/channels.ts'
import { createFlow } from '../../db/accounts/flows.ts'
import { recordAudit } from '../../db/audit/record.ts'
import { recordRefused } from '../../db/audit/refused.ts'
import { disableEndpoint } from '../../db/callbacks/endpoints.ts'
import { openBreaker } from '../../db/delivery/breakers.ts'
import { accounts, sends } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import { buildSendRow } from './attempts.ts'
import { type Account, accept, buildAccount, buildChannel, textBody } from './builders.ts'
import { buildEndpoint } from './endpoints.ts'
import { type TestService, testSuppressionKey } from './service.ts'

export const longName =
  'Order confirmations, reminders and invoices of the northern region, by the second number (GmbH & Co. KG, Hamburg)'
const longWord = `${'Donaudampfschifffahrtselektrizitaeten'.repeat(3)}hauptbetriebswerk`
const longReason =
  'held by an operator: the number is being ported to another carrier, which takes until Thursday, see the ticket of this morning'

export interface LongWorld extends Account {
  requestId: string
  uncertain: string
  waiting: string
  endpointId: string
  heldChannelId: string
}

/** A world of real length: twelve channels, names of 120 characters, numbers of five digits, reasons that go on. */
export async function buildLongWorld(service: TestService): Promise<LongWorld> {
  const { db } = service.runtime
  const account = await buildAccount(service)
  const { accountId, channelId, keyId } = account
  await db.update(accounts).set({ name: longName }).where(eq(accounts.id, accountId))
  const others = await Promise.all(Array.from({ length: 11 }, () => buildChannel(service, accountId)))
  const all = [channelId, ...others]
  for (const [place, id] of all.entries())
    await updateChannel(db, id, { name: place === 1 ? longWord : `${place} ${longName}`.slice(0, 120) })
  await countMany(service, accountId, all)
  await holdChannel(db, others[0] ?? '', longReason)
  for (const id of others.slice(1, 4)) await openBreaker(db, { channelId: id, isAgain: false })
  const { endpointId } = await buildEndpoint(
    service,
    accountId,
    `https://${'hooks.'.repeat(9)}warehouse.example.com/in`,
  )
  await disableEndpoint(db, endpointId, longReason)
  await createAccount(db, 'Another one')
  const ended = await keepEnded(service, account, others[0] ?? '')
  await addSuppression(
    db,
    { accountId, contact: { type: 'email', value: `${longWord.slice(0, 60)}@example.com` }, channelId: null },
    longReason,
    testSuppressionKey,
  )
  const details = { reason: longReason, fields: ['name', 'config', 'rateCalls', 'fallbackChannelId'] }
  const row = { by: longName.slice(0, 60), via: 'cli', address: 'operations-1.example.com', details } as const
  for (const id of all) await recordAudit(db, { ...row, action: 'channel.hold', target: id })
  const refused = {
    keyId,
    at: new Date(),
    status: 400,
    message: `message.template.variables[3].value: ${longReason}`,
  }
  const request = {
    ...refused,
    route: 'POST /v1/messages/batch',
    fields: ['contact.value', 'message.template.name', longWord],
  }
  await recordRefused(db, [{ ...request, requestId: newId() }])
  return { ...account, ...ended, endpointId, heldChannelId: others[0] ?? '' }
}

/** Sends in each state, the newest of them failed with a long reason. */
async function keepEnded(service: TestService, account: Account, heldChannelId: string) {
  const { db } = service.runtime
  const flowId = await createFlow(db, account.accountId, longName)
  const base = {
    attempt: 2,
    finishedAt: new Date(),
    flowId,
    contactValue: `${'a'.repeat(60)}@${'mail.'.repeat(8)}example.com`,
    contactType: 'email' as const,
  }
  const called = {
    attempt: 2,
    durationMs: 12_345,
    providerStatus: 400,
    providerCode: 'parameter_value_out_of_range',
    providerMessageId: null,
  }
  const record = { ...called, outcome: 'rejected', fault: 'recipient', reason: longReason } as const
  const failed = buildSendRow(account, {
    ...base,
    status: 'failed',
    failure: longReason,
    attemptRecord: record,
    reference: longWord.slice(0, 100),
  })
  const uncertain = buildSendRow(account, { ...base, status: 'uncertain', failure: longReason })
  const sent = Array.from({ length: 30 }, () => buildSendRow(account, { ...base, status: 'sent' }))
  await db.insert(sends).values([...sent, uncertain, failed])
  const waiting = await accept(service, { ...account, channelId: heldChannelId }, textBody(longReason))
  for (const days of [1, 2])
    await accept(service, account, {
      ...textBody('Later'),
      sendAt: new Date(Date.now() + days * 86_400_000).toISOString(),
    })
  return { requestId: failed.requestId, uncertain: uncertain.requestId, waiting }
}

/** Numbers of five digits, by the hour of eight days. */
async function countMany({ runtime: { db } }: TestService, accountId: string, channelIds: readonly string[]) {
  await db.$client.query(
    `insert into send_count_changes (account_id, channel_id, hour, counted_as, change)
     select $1, c.id, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', s.counted_as,
            ((s.share * (40 + 30 * sin(h / 4.0))) / c.place)::int
     from unnest($2::uuid[]) with ordinality c (id, place), generate_series(0, 192) h,
          (values ('accepted', 130), ('sent', 70), ('delivered', 40), ('failed/recipient/parameter_value_out_of_range', 6),
                  ('undelivered//30008', 4), ('uncertain/provider/', 2)) s (counted_as, share)`,
    [accountId, channelIds],
  )
}
