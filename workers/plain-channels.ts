import { findPlainChannels } from '../db/accounts/plain-channels.ts'
import { plainWarning } from '../src/core/channels/plain-channel.ts'
import type { Runtime } from '../src/runtime.ts'

/** So many are named. */
const maxNamed = 20

/** Logs once which channels may call in plain text. It is advice: a database that is away now is named by what needs it. */
export async function warnOfPlainChannels({ db, log, settings }: Runtime): Promise<void> {
  const found = await findPlainChannels(db).catch(() => [])
  const plain = found.filter((channel) =>
    plainWarning(channel.shownConfig, settings.ALLOWED_PRIVATE_NETWORKS),
  )
  if (plain.length === 0) return
  const names = plain.slice(0, maxNamed).map(({ name }) => name)
  const check = 'use https, and leave requireTls out of the config; see: outbound channel list --account ID'
  log.warn({ event: 'channels_in_clear', channels: names, count: plain.length, check })
}
