import { setTimeout as sleep } from 'node:timers/promises'
import { smtp as rules, type SmtpConfig } from '../../../src/core/providers/smtp.ts'
import { createMediaFetcher } from '../../../workers/providers/media-fetcher.ts'
import type { Delivery, Provider } from '../../../workers/providers/provider.ts'
import { smtp } from '../../../workers/providers/smtp.ts'
import { openSmtpConnections, type SmtpConnections } from '../../../workers/providers/smtp-connections.ts'
import { buildDelivery } from '../../support/deliveries.ts'
import { type Postfix, startPostfix } from '../../support/postfix.ts'
import { alternate, type Benchmark } from '../benchmark.ts'
import { concurrently } from '../concurrently.ts'
import type { Figure } from '../figures.ts'
import { ratio } from '../speed/ratio.ts'

/** As `--max-in-flight 10` bounds it. */
const atOnce = 10
const mails = { full: 2000, quick: 300 }
const restMs = 6000

/** How many mails a second a real mail server takes: over a connection each, and over connections that are used again. */
export const mail: Benchmark = {
  names: ['mails'],
  async run({ runs, isQuick, print }) {
    const server = await startPostfix()
    const media = createMediaFetcher({ allowedPrivateNetworks: [] })
    const measured = async (figure: Figure, connections: SmtpConnections) => {
      const perSecond = await sent(server, smtp(media, {}, connections), isQuick ? mails.quick : mails.full)
      figure.values.push(perSecond)
      print(`mails: ${figure.variant}: ${perSecond.toFixed(0)}/s`)
      // Postfix still delivers to the mailbox.
      await sleep(restMs)
    }
    const each: Figure = { variant: 'a connection each', unit: '/s', values: [] }
    const again: Figure = { variant: 'connections used again', unit: '/s', values: [] }
    try {
      await alternate(runs, [
        () => measured(each, openSmtpConnections({ longestIdleMs: 5000, maxMails: 1 })),
        () => measured(again, openSmtpConnections()),
      ])
    } finally {
      await media.close()
      await server.stop()
    }
    const conditions = `Postfix with STARTTLS, without a login, on this machine; ${atOnce} mails at a time`
    return { conditions, results: [ratio('mails', 'again ÷ each', { of: again, to: each })] }
  },
}

async function sent({ port }: Postfix, provider: Provider<SmtpConfig>, count: number): Promise<number> {
  const config = rules.config.parse({ host: '127.0.0.1', port, from: 'hello@example.org' })
  const contact = { type: 'email', value: 'ann@example.com' } as const
  const startedAt = performance.now()
  await concurrently(atOnce, Array.from({ length: count }), async () => {
    const delivery = buildDelivery(rules, config, { contact }) as Delivery<SmtpConfig>
    const { outcome, ...more } = await provider.send(delivery, AbortSignal.timeout(20_000))
    if (outcome !== 'sent') throw new Error(`A mail was not sent: ${outcome} ${JSON.stringify(more)}`)
  })
  const seconds = (performance.now() - startedAt) / 1000
  await provider.close?.()
  return count / seconds
}
