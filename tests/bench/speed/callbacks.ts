import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { createEndpoint } from '../../../db/callbacks/endpoints.ts'
import { mintWebhookSecret } from '../../../src/core/callbacks/callback.ts'
import { sealConfig } from '../../../src/core/channels/sealed-config.ts'
import { testSecrets } from '../../support/service.ts'
import { alternate } from '../benchmark.ts'
import { nowMs } from '../clock.ts'
import { type Figure, percentile } from '../figures.ts'
import type { Post, Sender } from '../post.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import { openStage, type Stage } from '../stage.ts'
import { dispatch as dispatchAll } from '../throughput.ts'
import type { Case } from './case.ts'
import { atLeast, atMost, ratio } from './ratio.ts'

const path = '/accept/callbacks'
const sendsPath = '/accept/told'
const deadPath = '/hang/callbacks'
const deadEndpoints = 99
const withinMs = 180_000
/** A backlog's calls that count: not the first, of a worker that has just started. */
const from = 0.3
const to = 0.95
const steadyPerSecond = 50
const steadySeconds = 20
const warmUpSeconds = 3
const sendsOfDead = 10
const askEveryMs = 500

/**
 * The callbacks of one worker to one endpoint that answers at once; how much slower it delivers meanwhile, and beside 99 that never answer;
 * and how late an endpoint gets its callbacks beside those.
 */
export const callbacks: Case = {
  name: 'callbacks',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    try {
      const accounts = await openAccounts(stage, sizes.accounts)
      const senders = await openChannels(accounts, sendsPath, sizes.channelsOfEach)
      const told: Figure = { variant: 'callbacks, one endpoint', unit: '/s', values: [] }
      const without: Figure = { variant: 'dispatch without endpoints', unit: '/s', values: [] }
      const withOne: Figure = { variant: 'with one for each account', unit: '/s', values: [] }
      const besideDead: Figure = { variant: 'beside 99 that never answer', unit: '/s', values: [] }
      const alone: Figure = { variant: 'alone', unit: ' ms', values: [] }
      const beside: Figure = { variant: 'beside 99 that never answer', unit: ' ms', values: [] }
      const besideBurst: Figure = { variant: 'with all sends of theirs at once', unit: ' ms', values: [] }
      const deliver = (figure: Figure, endpoints: () => Promise<void>) => async () => {
        await endpoints()
        const measured = { path: sendsPath }
        const { perSecond, cpuMicros } = await dispatchAll(stage, inTurn(senders, sizes.sendsOfEach), {
          measured,
        })
        figure.values.push(perSecond)
        print(
          `callbacks: ${figure.variant}: ${perSecond.toFixed(0)}/s, ${cpuMicros.toFixed(0)} µs of all processes each`,
        )
      }
      const dispatches = [
        deliver(withOne, async () => setEndpoints(stage, await accountsOf(stage, senders), path)),
        deliver(without, () => setEndpoints(stage, [], path)),
        deliver(besideDead, async () =>
          setEndpoints(stage, await accountsOf(stage, senders.slice(0, deadEndpoints)), deadPath),
        ),
      ]
      await alternate(runs, [
        // There and back: a machine that becomes faster or slower meanwhile affects both orders in opposite ways.
        ...dispatches,
        ...dispatches.toReversed(),
        async () => {
          const perSecond = await backlog(stage, senders, sizes.callbacks)
          told.values.push(perSecond)
          print(`callbacks: backlog: ${perSecond.toFixed(0)}/s`)
        },
        async () => {
          const ms = await lags(stage, senders)
          for (const [figure, value] of [
            [alone, ms.alone],
            [beside, ms.beside],
            [besideBurst, ms.besideBurst],
          ] as const) {
            figure.values.push(value)
            print(`callbacks: p99 lag ${figure.variant}: ${value.toFixed(0)} ms`)
          }
        },
      ])
      return [
        atLeast('callbacks', 'callbacks of one worker', [told], { floor: 2000, aim: 2000 }),
        ratio('callbacks', 'dispatch with an endpoint ÷ without', {
          of: withOne,
          to: without,
          floor: 0.8,
          aim: 0.8,
        }),
        ratio('callbacks', 'dispatch beside 99 that never answer ÷ without', {
          of: besideDead,
          to: without,
          floor: 0.9,
          aim: 0.95,
        }),
        ratio('callbacks', 'p99 lag beside 99 that never answer ÷ alone', { of: beside, to: alone }),
        ratio('callbacks', 'the same, with all sends of their accounts at once', {
          of: besideBurst,
          to: alone,
        }),
        atMost('callbacks', 'p99 lag beside 99 that never answer', beside, { floor: 1000, aim: 100 }),
      ]
    } finally {
      await stage.close()
    }
  },
}

async function accountsOf({ db }: Stage, senders: readonly Sender[]): Promise<string[]> {
  const ids = senders.map(({ channelId }) => channelId)
  const { rows } = await db.$client.query<{ id: string }>(
    'select distinct account_id as id from channels where id = any($1)',
    [ids],
  )
  return rows.map(({ id }) => id)
}

/** An endpoint for each of the accounts, and for no other. */
async function setEndpoints(stage: Stage, accountIds: readonly string[], at: string): Promise<void> {
  await stage.db.$client.query('delete from endpoints')
  for (const accountId of accountIds) await addEndpoint(stage, accountId, at)
}

async function addEndpoint({ db, provider }: Stage, accountId: string, at: string): Promise<string> {
  const id = uuidv7()
  const key = Buffer.from(testSecrets.CREDENTIALS_KEY, 'base64')
  const sealedSecret = sealConfig({ secret: mintWebhookSecret() }, id, key)
  await createEndpoint(db, { id, accountId, url: provider.urlOf(at), events: null, sealedSecret })
  return id
}

/** Callbacks of ended sends that wait when the worker starts. @returns how many it calls a second. */
async function backlog(stage: Stage, senders: readonly Sender[], count: number): Promise<number> {
  await stage.clear()
  const [{ channelId = '' } = {}] = senders
  const [accountId = ''] = await accountsOf(stage, senders.slice(0, 1))
  await setEndpoints(stage, [], path)
  const endpointId = await addEndpoint(stage, accountId, path)
  await stage.db.$client.query(
    `with told as (
       insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                          close_conversation, status, attempt, finished_at, change_number)
       select uuidv7(), account_id, id, 'phone', '+49' || n, 'text', '{"type": "text", "text": {"value": "Hello"}}', false,
              'sent', 1, now(), 1
       from channels, generate_series(1, $2) n where id = $1 returning request_id)
     insert into callbacks (endpoint_id, request_id, sequence, type, attempts)
     select $3, request_id, 1, 'message.sent', 1 from told`,
    [channelId, count, endpointId],
  )
  await stage.startWorkers(1)
  if (!(await stage.provider.gets(count, { path }, withinMs)))
    throw new Error('the endpoint did not get its callbacks in time')
  const calls = await stage.provider.calls({ path })
  const middle = calls.slice(Math.floor(calls.length * from), Math.floor(calls.length * to))
  return ((middle.length - 1) * 1000) / ((middle.at(-1)?.arrivedAt ?? 0) - (middle[0]?.arrivedAt ?? 0))
}

interface Lags {
  alone: number
  /** Beside endpoints that never answer, whose accounts post as many sends, as steadily. */
  beside: number
  /** The same, but these accounts post all their sends at once. */
  besideBurst: number
}

/** The p99 lag in ms of one endpoint that answers: alone, and beside others that were just created and never answer. */
async function lags(stage: Stage, senders: readonly Sender[]): Promise<Lags> {
  await stage.clear()
  await setEndpoints(stage, [], path)
  const [good, ...others] = senders.slice(0, deadEndpoints + 1)
  if (!good) throw new Error('no sender')
  const endpointId = await addEndpoint(stage, (await accountsOf(stage, [good]))[0] ?? '', path)
  const accountIds = await accountsOf(stage, others)
  const addDead = async () => {
    await stage.db.$client.query('delete from endpoints where id <> $1', [endpointId])
    for (const accountId of accountIds) await addEndpoint(stage, accountId, deadPath)
  }
  await stage.startWorkers(1)
  const lagWhile = async (post: () => Promise<unknown>, seconds = steadySeconds) => {
    await stage.db.$client.query('delete from callbacks where endpoint_id = $1', [endpointId])
    const posts = inTurn([good], steadyPerSecond * seconds)
    await Promise.all([postSteadily(stage, posts, seconds), post()])
    return percentile(await lagsOfTold(stage, endpointId, posts.length), 0.99)
  }
  const theirs = () => inTurn(others, sendsOfDead)
  await lagWhile(async () => {}, warmUpSeconds)
  const alone = await lagWhile(async () => {})
  await addDead()
  const beside = await lagWhile(() => postSteadily(stage, theirs(), steadySeconds))
  await addDead()
  const besideBurst = await lagWhile(() => stage.client.postAll(theirs()))
  return { alone, beside, besideBurst }
}

async function postSteadily({ client }: Stage, posts: readonly Post[], seconds: number): Promise<void> {
  const startedAt = nowMs()
  const posted: Promise<unknown>[] = []
  for (const [at, post] of posts.entries()) {
    await sleep(startedAt + (at * 1000 * seconds) / posts.length - nowMs())
    posted.push(client.postAll([post]))
  }
  await Promise.all(posted)
}

async function lagsOfTold({ db }: Stage, endpointId: string, count: number): Promise<number[]> {
  for (const deadline = nowMs() + withinMs; nowMs() < deadline; await sleep(askEveryMs)) {
    const { rows } = await db.$client.query<{ ms: number }>(
      `select extract(epoch from finished_at - created_at)::float8 * 1000 as ms from callbacks
       where endpoint_id = $1 and finished_at is not null`,
      [endpointId],
    )
    if (rows.length >= count) return rows.map(({ ms }) => ms)
  }
  throw new Error('the endpoint did not get its callbacks in time')
}
