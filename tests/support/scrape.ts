import type { Metric } from 'prom-client'

type Labels = Record<string, string | number>

/** An answer of `/metrics`. */
export interface Scrape {
  text: string
  /** The metrics that it declares, whether or not they have a value yet. */
  names: string[]
  /** The sum of the samples of that name that have these labels; undefined where there is none. */
  value(name: string, labels?: Labels): number | undefined
}

export async function scrapeAt(url: string, headers: Record<string, string> = {}): Promise<Scrape> {
  const response = await fetch(`${url}/metrics`, { headers })
  if (!response.ok) throw new Error(`${url}/metrics answered ${response.status}`)
  const text = await response.text()
  const samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name = '', labels = '', value]) => ({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', of = '']) => [label, of]),
      ),
      value: Number(value),
    }),
  )
  return {
    text,
    names: [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name),
    value: (name, labels = {}) =>
      sum(samples.filter((sample) => sample.name === name && has(sample.labels, labels))),
  }
}

/**
 * The metric's count so far, also where the process doesn't show it, as a worker's in a test's API.
 *
 * @param part of a histogram: `_count` or `_sum`.
 */
export async function countedBy(metric: Metric, labels: Labels = {}, part = ''): Promise<number> {
  const { name, values } = await metric.get()
  const asked = values.filter((sample) => {
    const sampleName = 'metricName' in sample ? sample.metricName : name
    return sampleName === name + part && has(sample.labels as Labels, labels)
  })
  return sum(asked) ?? 0
}

/** Returns what the metric has counted since it was last read, by the values of these labels. */
export function countsSince(metric: Metric, ...labels: string[]) {
  let before: Record<string, number> = {}
  return async (): Promise<Record<string, number>> => {
    const { values } = await metric.get()
    const now: Record<string, number> = {}
    for (const sample of values) {
      const key = labels.map((label) => (sample.labels as Labels)[label]).join(' ')
      now[key] = (now[key] ?? 0) + sample.value
    }
    const since = Object.entries(now).map(([key, value]) => [key, value - (before[key] ?? 0)] as const)
    before = now
    return Object.fromEntries(since.filter(([, value]) => value > 0))
  }
}

const has = (labels: Labels, wanted: Labels) =>
  Object.entries(wanted).every(([label, value]) => String(labels[label]) === String(value))

const sum = (samples: { value: number }[]) =>
  samples.length === 0 ? undefined : samples.reduce((total, { value }) => total + value, 0)
