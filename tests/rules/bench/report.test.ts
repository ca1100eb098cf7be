import { expect, test } from 'vitest'
import type { Result } from '../../bench/benchmark.ts'
import { report } from '../../bench/report.ts'
import { atMost, ratio } from '../../bench/speed/ratio.ts'

const figure = (variant: string, ...values: number[]) => ({ variant, unit: '/s', values })

function rowsOf(...results: Result[]): string[] {
  return report([{ conditions: 'here', results }])
    .split('\n')
    .slice(4)
}

test('what only has to be looked at is neither met nor missed', () => {
  const rows = rowsOf({ case: 'load', measured: 'accepted', figures: [figure('64', 2000, 2100, 1900)] })
  expect(rows).toEqual(['| load | accepted | 64 2,000/s (1,900–2,100) | – | – |'])
})

test('a ratio is printed to a hundredth', () => {
  const compared = { of: figure('grown', 966), to: figure('empty', 1000), floor: 0.9, aim: 0.97 }
  expect(rowsOf(ratio('growth', 'accept', compared))[0]).toContain('ratio 0.97 (0.97–0.97)')
})

test('of a ratio the median of the runs counts, not the ratio of the medians', () => {
  const compared = { of: figure('grown', 95, 50, 190), to: figure('empty', 100, 100, 200) }
  expect(ratio('growth', 'accept', { ...compared, floor: 0.9, aim: 0.97 })).toMatchObject({
    figures: [{}, {}, { values: [0.95, 0.5, 0.95] }],
    isReached: true,
    isAimReached: false,
  })
})

test('a figure of which less is better is reached by less', () => {
  const reached = (...values: number[]) => {
    const { isReached, isAimReached } = atMost('latency', 'p50', figure('p50', ...values), {
      floor: 10,
      aim: 5,
    })
    return { isReached, isAimReached }
  }
  expect(reached(4, 4, 90)).toEqual({ isReached: true, isAimReached: true })
  expect(reached(10)).toEqual({ isReached: true, isAimReached: false })
  expect(reached(10.1)).toEqual({ isReached: false, isAimReached: false })
})
