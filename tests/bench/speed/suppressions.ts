import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { csvHeader } from '../../../src/core/suppression/suppression-csv.ts'
import { testSecrets } from '../../support/service.ts'
import { alternate } from '../benchmark.ts'
import { nowMs } from '../clock.ts'
import { type Figure, percentile } from '../figures.ts'
import { programFile } from '../program.ts'
import { inTurn } from '../senders.ts'
import { openStage, type Stage } from '../stage.ts'
import { dispatch } from '../throughput.ts'
import type { Case } from './case.ts'
import { atMost, ratio } from './ratio.ts'
import { timePages } from './time-pages.ts'

const figureOf = (variant: string, unit: string): Figure => ({ variant, unit, values: [] })

/** An account with many suppressed contacts: the import of some, the pages of all, and the claims of sends to others. */
export const suppressions: Case = {
  name: 'suppressions',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    try {
      const [many, none] = await Promise.all([stage.openAccount(), stage.openAccount()])
      const sender = await many.openChannel('/accept/suppressions')
      const accountId = await accountOf(stage, sender.channelId)
      const imported = figureOf('import', ' s')
      imported.values.push(await importEntries(stage, accountId, sizes.imported))
      print(`suppressions: ${count(sizes.imported)} imported in ${imported.values[0]?.toFixed(1)} s`)
      await addEntries(stage, accountId, sizes.suppressed - sizes.imported)
      const listed = figureOf('p50', ' ms')
      listed.values.push(percentile(await timePages(stage.api, sender.apiKey, '/v1/suppressions'), 0.5))
      print(`suppressions: page of ${count(sizes.suppressed)}: p50 ${listed.values[0]?.toFixed(1)} ms`)

      const withEntries = figureOf('with entries', '/s')
      const without = figureOf('without', '/s')
      const measure = (one: typeof sender, figure: Figure) => async () => {
        const { perSecond, cpuMicros } = await dispatch(stage, inTurn([one], sizes.lone))
        figure.values.push(perSecond)
        print(
          `suppressions: dispatch ${figure.variant}: ${perSecond.toFixed(0)}/s, ${cpuMicros.toFixed(0)} µs of all processes each`,
        )
      }
      const other = await none.openChannel('/accept/suppressions')
      await alternate(runs, [measure(sender, withEntries), measure(other, without)])
      const words = `of an account with ${count(sizes.suppressed)} entries`
      return [
        atMost('suppressions', `import of ${count(sizes.imported)} entries`, imported, {
          floor: 60,
          aim: 30,
        }),
        atMost('suppressions', `page ${words}`, listed, { floor: 50, aim: 20 }),
        ratio('suppressions', `dispatch ${words} ÷ of one without`, {
          of: withEntries,
          to: without,
          floor: 0.97,
          aim: 1,
        }),
      ]
    } finally {
      await stage.close()
    }
  },
}

const count = (entries: number) => entries.toLocaleString('en')

async function accountOf({ db }: Stage, channelId: string): Promise<string> {
  const { rows } = await db.$client.query('select account_id from channels where id = $1', [channelId])
  return rows[0].account_id
}

/** By the command, as an operator does. @returns seconds. */
async function importEntries({ databaseUrl, folder }: Stage, accountId: string, entries: number) {
  const file = join(folder, 'suppressions.csv')
  const lines = Array.from({ length: entries }, (_, n) => `+33${600_000_000 + n},,`)
  await writeFile(file, `${csvHeader}\n${lines.join('\n')}\n`)
  const command = ['suppression', 'import', '--account', accountId, '--file', file]
  const startedAt = nowMs()
  await promisify(execFile)(process.execPath, [programFile('src/cli/main.js'), ...command], {
    env: { ...process.env, ...testSecrets, DATABASE_URL: databaseUrl },
  })
  const seconds = (nowMs() - startedAt) / 1000
  await rm(file)
  return seconds
}

const rowsAtOnce = 200_000
/** Takes a minute for five million rows. */
const vacuum = { text: 'vacuum analyze suppressions', query_timeout: 900_000 }

async function addEntries({ db }: Stage, accountId: string, entries: number): Promise<void> {
  for (let first = 0; first < entries; first += rowsAtOnce) {
    await db.$client.query(
      `insert into suppressions (id, account_id, contact_type, contact_value, cause)
       select uuidv7(), $1, 'phone', '+34' || 600000000 + n, 'manual' from generate_series($2::int, $3::int) n`,
      [accountId, first, Math.min(first + rowsAtOnce, entries) - 1],
    )
  }
  await db.$client.query(vacuum)
}
