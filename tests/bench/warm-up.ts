import { inTurn, openAccounts, openChannels } from './senders.ts'
import type { Stage } from './stage.ts'

/** Until then API and worker keep getting faster. */
const sends = 4000
const accounts = 20
const path = '/accept/warm-up'
const withinMs = 60_000

/** Starts a worker, and lets it do some work until it is idle. */
export async function startWarmWorker(stage: Stage): Promise<void> {
  await stage.clear()
  await stage.startWorkers(1)
  const senders = await openChannels(await openAccounts(stage, accounts), path)
  await stage.client.postAll(inTurn(senders, sends / accounts))
  if (!(await stage.provider.gets(sends, { path }, withinMs))) throw new Error('the worker delivers nothing')
}
