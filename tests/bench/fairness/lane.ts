import { newContact } from '../../support/builders.ts'
import { alternate } from '../benchmark.ts'
import { type Figure, median } from '../figures.ts'
import type { Post, Sender } from '../post.ts'
import { dispatchThroughput } from '../throughput.ts'
import type { Case } from './case.ts'
import type { Sizes } from './sizes.ts'

const part = 0.9

/** All sends are on one channel and recorded before, so that time spent on the long lane slows the others. */
export const lane: Case = {
  name: 'lane',
  reach: `at least ${part} x that without`,
  async measure(stage, { runs, sizes, print }) {
    const sender = await (await stage.openAccount()).openChannel('/accept/lane')
    const one = newContact()
    const count = sizes.lane.others * sizes.lane.ofEachOther
    const without: Figure = { variant: 'without', unit: '/s', values: [] }
    const beside: Figure = { variant: 'with', unit: '/s', values: [] }
    const measure = async ({ variant, values }: Figure, posts: Post[]) => {
      const measured = { exceptContact: one }
      values.push(await dispatchThroughput(stage, posts, { count, measured }))
      print(`lane: ${variant}: ${values.at(-1)?.toFixed(0)}/s`)
    }
    const others = postsOfOthers(sender, sizes)
    const ofOne = Array.from({ length: sizes.lane.ofOne }, () => ({ sender, contact: one }))
    await alternate(runs, [() => measure(without, others), () => measure(beside, mixed(others, ofOne))])
    return {
      measured: `sends per second of ${sizes.lane.others.toLocaleString('en')} lanes, beside one of ${sizes.lane.ofOne.toLocaleString('en')} sends`,
      figures: [without, beside],
      isReached: median(beside.values) >= part * median(without.values),
    }
  },
}

function postsOfOthers(sender: Sender, { lane: { others, ofEachOther } }: Sizes): Post[] {
  const contacts = Array.from({ length: others }, newContact)
  return Array.from({ length: ofEachOther }, () => contacts.map((contact) => ({ sender, contact }))).flat()
}

/** Mixes both lists, each spread evenly. */
function mixed(some: readonly Post[], others: readonly Post[]): Post[] {
  const placed = [some, others].flatMap((posts) =>
    posts.map((post, index) => ({ post, position: index / posts.length })),
  )
  return placed.sort((a, b) => a.position - b.position).map(({ post }) => post)
}
