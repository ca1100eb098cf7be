import { formatCount } from './spans.ts'

const height = 20
const step = 4

/** A channel's accepted sends by the hour, as a line; their sum stands beside it as a number. */
export function Sparkline({ counts }: { counts: readonly number[] }) {
  const most = Math.max(...counts)
  if (most <= 0) return null
  const width = (counts.length - 1) * step
  const points = counts.map((count, place) => `${place * step},${height - 1 - (count / most) * (height - 2)}`)
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`By the hour, at most ${formatCount(most)}`}
    >
      <polyline points={points.map((point) => point.replace(/(\.\d)\d+/g, '$1')).join(' ')} />
    </svg>
  )
}
