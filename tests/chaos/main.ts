import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import buildService from '../support/build.ts'
import { faultsOn } from './faults/index.ts'
import { upgradeFrom } from './faults/upgrade.ts'
import { buildOf } from './former-build.ts'
import { report } from './report.ts'
import { runChaos } from './run.ts'
import { scaleOf, short } from './scale.ts'
import type { StoreKind } from './world.ts'

const options = {
  seed: { type: 'string' },
  sends: { type: 'string', default: '10000' },
  faults: { type: 'string' },
  json: { type: 'string' },
  logs: { type: 'string' },
  short: { type: 'boolean', default: false },
  cluster: { type: 'boolean', default: false },
  'upgrade-from': { type: 'string' },
} as const

class UsageError extends Error {}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(error.message)
  process.exit(1)
}

async function main(): Promise<number> {
  const values = readArguments()
  const seed = wholeNumber('seed', values.seed ?? String(randomInt(1_000_000)))
  const sends = wholeNumber('sends', values.sends)
  const store: StoreKind = values.cluster ? 'cluster' : 'redis'
  const former = values['upgrade-from'] === undefined ? undefined : checkoutOf(values['upgrade-from'])
  const chosen = former === undefined ? chooseFaults(store, values.faults) : [upgradeFrom(former)]
  const only = values.faults === undefined ? '' : ` --faults ${values.faults}`
  const from = former === undefined ? '' : ` --upgrade-from ${former}`
  const form = `${values.cluster ? ' --cluster' : ''}${values.short ? ' --short' : ''}`
  console.log(
    `seed ${seed}, ${sends} sends; again with: npm run chaos --${form} --seed ${seed} --sends ${sends}${only}${from}\n`,
  )

  await buildService()
  const results = await runChaos({
    scale: scaleOf(sends),
    providerTimeoutSeconds: 15,
    ...(values.short && short),
    seed,
    sends,
    store,
    faults: chosen,
    logFile: values.logs,
    former,
    print: (progress) => console.error(`${new Date().toISOString().slice(11, 19)} ${progress}`),
    signal: interruption(),
  })
  console.log(report(results))
  if (values.json) await writeFile(values.json, `${JSON.stringify({ seed, sends, results }, null, 2)}\n`)
  return results.every(({ violations }) => violations.length === 0) ? 0 : 1
}

function readArguments() {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} has to be a whole number`)
  return Number(text)
}

function chooseFaults(store: StoreKind, names: string | undefined) {
  const faults = faultsOn[store]
  if (names === undefined) return faults
  const known = faults.map(({ name }) => name)
  for (const name of names.split(',')) {
    if (!known.includes(name))
      throw new UsageError(`No fault is called ${name}. There are ${known.join(', ')}.`)
  }
  return faults.filter(({ name }) => names.split(',').includes(name))
}

function checkoutOf(folder: string): string {
  if (!existsSync(buildOf(folder)))
    throw new UsageError(
      `${folder} has no build. In a checkout of the earlier release, run: npm ci && npm run build`,
    )
  return resolve(folder)
}

function interruption(): AbortSignal {
  const abort = new AbortController()
  process.once('SIGINT', () => {
    console.error('Ending what was started …')
    abort.abort(new UsageError('Interrupted.'))
  })
  return abort.signal
}
