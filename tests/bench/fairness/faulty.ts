import { setTimeout as sleep } from 'node:timers/promises'
import { newContact } from '../../support/builders.ts'
import { alternate } from '../benchmark.ts'
import { type Figure, median } from '../figures.ts'
import { latenciesOf, p99 } from '../latency.ts'
import type { Post, Sender } from '../post.ts'
import type { Stage, Tenant } from '../stage.ts'
import { startWarmWorker } from '../warm-up.ts'
import type { Case } from './case.ts'

const sends = 100
const seconds = 5
/** Time before the good sends: longer than the failures that open a channel's circuit breaker. */
const failingForMs = 6000
const limitedContacts = '+49159'
const factor = 2
const marginMs = 200

/** A way in which sends fail, and the good sends beside them. */
interface Fault {
  name: string
  /** The failing sends, as text. */
  bad: string
  open(tenant: Tenant): Promise<Sender>
  badPost(stage: Stage, sender: Sender): Post
  goodPost(sender: Sender): Post
}

const mail = (sender: Sender): Post => ({ sender, contact: `${newContact().slice(1)}@example.com` })

const byMedia = (treatment: 'unavailable' | 'hang') => ({
  open: (tenant: Tenant) => tenant.openMail(),
  goodPost: mail,
  badPost: ({ provider }: Stage, sender: Sender): Post => {
    const mediaUrl = provider.urlOf(`/media/${treatment}`)
    return { ...mail(sender), message: { type: 'media', media: { mediaType: 'document', mediaUrl } } }
  },
})

const faults: readonly Fault[] = [
  {
    name: 'faulty',
    bad: 'whose recipients have had too many messages',
    open: (tenant) => tenant.openWhatsApp(`/limit-contacts/${limitedContacts}/faulty`),
    goodPost: (sender) => ({ sender, contact: newContact() }),
    badPost: (_stage, sender) => ({ sender, contact: newContact().replace('+49151', limitedContacts) }),
  },
  { name: 'faulty-media', bad: 'with media that answer 503', ...byMedia('unavailable') },
  { name: 'hung-media', bad: 'with media that never answer', ...byMedia('hang') },
]

/** Sends that fail because of their recipients or media, before and beside good ones on the same channel. */
export const faulty: readonly Case[] = faults.map((fault) => ({
  name: fault.name,
  reach: `at most ${factor} x alone + ${marginMs} ms`,
  async measure(stage, { runs, print }) {
    const alone: Figure = { variant: 'alone', unit: ' ms', values: [] }
    const beside: Figure = { variant: 'beside', unit: ' ms', values: [] }
    const measure = async ({ variant, values }: Figure, isDisturbed: boolean) => {
      values.push(await p99OfGood(stage, fault, isDisturbed))
      print(`${fault.name}: ${variant}: ${values.at(-1)?.toFixed(1)} ms`)
    }
    await alternate(runs, [() => measure(alone, false), () => measure(beside, true)])
    return {
      measured: `p99 from 202 to provider of ${sends} sends in ${seconds} s, beside as many on the same channel, and ${sends} before them, ${fault.bad}`,
      figures: [alone, beside],
      isReached: median(beside.values) <= factor * median(alone.values) + marginMs,
    }
  },
}))

async function p99OfGood(stage: Stage, fault: Fault, isDisturbed: boolean): Promise<number> {
  await startWarmWorker(stage)
  const sender = await fault.open(await stage.openAccount())
  const perSecond = sends / seconds
  const loads = [{ sender, perSecond, postOf: () => fault.goodPost(sender) }]
  if (!isDisturbed) return await p99OfFirst(stage, loads)
  const postOf = () => fault.badPost(stage, sender)
  await stage.client.postAll(Array.from({ length: sends }, postOf))
  await sleep(failingForMs)
  return await p99OfFirst(stage, [...loads, { sender, perSecond, postOf, mayFail: true as const }])
}

async function p99OfFirst(stage: Stage, loads: Parameters<typeof latenciesOf>[1]): Promise<number> {
  const [first = []] = await latenciesOf(stage, loads, seconds)
  return p99(first)
}
