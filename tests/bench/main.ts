import { writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Benchmark, Findings } from './benchmark.ts'
import { consolePages } from './console/index.ts'
import { fairness } from './fairness/index.ts'
import { fresh } from './fresh.ts'
import { buildPrograms, profileInto } from './program.ts'
import { report } from './report.ts'
import { roundTrip } from './round-trip.ts'
import { speed } from './speed/index.ts'
import { through } from './through/index.ts'
import { urgent } from './urgent/index.ts'

const benchmarks: Record<string, Benchmark> = {
  through,
  speed,
  fairness,
  urgent,
  fresh,
  'round-trip': roundTrip,
  console: consolePages,
}
/** It needs ten million sends. */
const onlyByName = ['console']

const options = {
  runs: { type: 'string' },
  only: { type: 'string' },
  quick: { type: 'boolean', default: false },
  masters: { type: 'string' },
  sends: { type: 'string' },
  profile: { type: 'string' },
  out: { type: 'string', default: join(tmpdir(), 'outbound-bench.json') },
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
  const { values, positionals } = readArguments()
  const runs = wholeOf('--runs', values.runs ?? (values.quick ? '1' : '5'))
  const masters = optionalWholeOf('--masters', values.masters)
  const sends = sendsOf(values.sends)
  const chosen = chosenBenchmarks(positionals)
  if (masters !== undefined && chosen.some((benchmark) => benchmark !== fairness))
    throw new UsageError('--masters is for fairness alone: npm run bench -- fairness --masters 3')
  const names = chosen.flatMap((benchmark) => benchmark.names)
  const only = chosenCases(values.only, names)

  if (values.profile !== undefined) profileInto(values.profile)
  await buildPrograms()
  const findings: Findings[] = []
  for (const benchmark of chosen.filter((one) => one.names.some((name) => only.includes(name)))) {
    const isChosen = (name: string) => only.includes(name)
    findings.push(await benchmark.run({ runs, masters, sends, isQuick: values.quick, isChosen, print }))
  }
  console.log(`\n${report(findings)}\n`)
  const machine = { cores: cpus().length, node: process.version }
  await writeFile(
    values.out,
    `${JSON.stringify({ runs, isQuick: values.quick, machine, findings }, null, 2)}\n`,
  )
  console.log(`Written to ${values.out}`)
  return findings.every(({ results }) => results.every(({ isReached }) => isReached !== false)) ? 0 : 1
}

function readArguments() {
  try {
    return parseArgs({ options, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function wholeOf(option: string, text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new UsageError(`${option} has to be a whole number from 1 to 999`)
  return Number(text)
}

function optionalWholeOf(option: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : wholeOf(option, text)
}

function sendsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{3,7}$/.test(text))
    throw new UsageError('--sends has to be a whole number from 1000 to 99999999')
  return Number(text)
}

/** All by default. */
function chosenBenchmarks(names: readonly string[]): Benchmark[] {
  const known = Object.keys(benchmarks)
  const byDefault = known.filter((name) => !onlyByName.includes(name))
  return (names.length === 0 ? byDefault : names).map((name) => {
    const benchmark = known.includes(name) && benchmarks[name]
    if (!benchmark) throw new UsageError(`No benchmark is called ${name}. There is ${known.join(', ')}.`)
    return benchmark
  })
}

function chosenCases(text: string | undefined, known: readonly string[]): readonly string[] {
  if (text === undefined) return known
  const names = text.split(',')
  for (const name of names) {
    if (!known.includes(name))
      throw new UsageError(`No case is called ${name}. There are ${known.join(', ')}.`)
  }
  return names
}

function print(progress: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${progress}`)
}
