import { alternate, type Result } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { openClient } from '../post.ts'
import { inTurn } from '../senders.ts'
import { openStage } from '../stage.ts'
import { dispatch } from '../throughput.ts'
import type { Case } from './case.ts'
import { atLeast, ratio } from './ratio.ts'

const programs = { this: 'worker', bare: 'bareWorker', usual: 'usualWorker' } as const
type Variant = keyof typeof programs
const variants = Object.keys(programs) as Variant[]

/** How long the provider takes, and what is to be reached a second. */
const providers = [
  { path: '/accept/lone', name: 'instant provider', bounds: undefined },
  { path: '/after/100/lone', name: 'provider takes 100 ms', bounds: { floor: 3200, aim: 4200 } },
  { path: '/after/1000/lone', name: 'provider takes 1 s', bounds: { floor: 800, aim: 900 } },
]

/**
 * The throughput of one worker on the backlog of an account that has it for itself. The usual worker, and BullMQ and HTTP alone,
 * follow one queue: their sends come by the usual API.
 */
export const lone: Case = {
  name: 'lone',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    const usual = openClient((await stage.startApi('usualApi')).url)
    try {
      const account = await stage.openAccount()
      const measured = providers.map(({ path, name, bounds }) => {
        const rates = Object.fromEntries(
          variants.map((variant) => [variant, { variant, unit: '/s', values: [] }]),
        ) as unknown as Record<Variant, Figure>
        return { path, name, bounds, rates }
      })
      const measures: (() => Promise<void>)[] = []
      for (const { path, name, rates } of measured) {
        const sender = await account.openChannel(path)
        for (const variant of variants) {
          measures.push(async () => {
            const posts = inTurn([sender], sizes.lone)
            const client = variant === 'this' ? stage.client : usual
            const { perSecond, cpuMicros } = await dispatch(stage, posts, {
              program: programs[variant],
              path,
              client,
            })
            rates[variant].values.push(perSecond)
            print(
              `lone: ${name}: ${variant}: ${perSecond.toFixed(0)}/s, ${cpuMicros.toFixed(0)} µs of all processes each`,
            )
          })
        }
      }
      await alternate(runs, measures)
      return measured.flatMap(({ name, bounds, rates }): Result[] => {
        const words = `${sizes.lone.toLocaleString('en')} sends of one account, ${name}`
        if (bounds) return [atLeast('lone', words, [rates.this, rates.bare, rates.usual], bounds)]
        return [
          ratio('lone', `${words}: this ÷ usual`, { of: rates.this, to: rates.usual, floor: 4, aim: 4.8 }),
          ratio('lone', `${words}: this ÷ BullMQ and undici with no record`, {
            of: rates.this,
            to: rates.bare,
          }),
        ]
      })
    } finally {
      await usual.close()
      await stage.close()
    }
  },
}
