import type { ConnectionOptions } from 'node:tls'
import type { Network } from '../../src/core/requests/public-address.ts'
import type { AttemptOutcome, Outcome } from '../../src/core/sends/outcome.ts'
import type { Delivery } from '../../src/providers/delivery.ts'
import type { SmtpConfig } from '../../src/providers/smtp/config.ts'
import { composeMail, type Mail } from '../../src/providers/smtp/mail.ts'
import { outcomeOf } from '../../src/providers/smtp/outcome.ts'
import type { MediaFetcher } from '../http/media-fetcher.ts'
import type { Sender } from './sender.ts'
import { openSmtpConnections } from './smtp-connections.ts'
import { sendMail } from './smtp-session.ts'

/**
 * Sends each message as a mail, by the channel's server (docs/reference/providers/smtp.md).
 *
 * @param media fetches attachments given by a link.
 * @param tls further TLS options, such as additional trusted CAs.
 * @param connections keeps those that may bring further mails.
 * @param allowedPrivateNetworks networks to whose servers mails may go in clear.
 */
export function createSmtpSender(
  media: MediaFetcher,
  tls: ConnectionOptions = {},
  connections = openSmtpConnections(),
  allowedPrivateNetworks: readonly Network[] = [],
): Sender<SmtpConfig> {
  return {
    media,
    close: async () => connections.close(),
    async send(delivery, signal, moved): Promise<AttemptOutcome> {
      const mail = composed(delivery)
      if ('outcome' in mail) return mail
      const session = { config: delivery.config, tls, connections, allowedPrivateNetworks }
      const result = await sendMail(mail, session, signal, moved)
      return outcomeOf(result, mail.messageId, delivery.config)
    },
  }
}

/** Composing makes no call, so an error here rejects the message instead of counting as uncertain. */
function composed(delivery: Delivery<SmtpConfig>): Mail | Outcome {
  try {
    return composeMail(delivery)
  } catch {
    return { outcome: 'rejected', fault: 'message', reason: 'the message could not be converted to a mail' }
  }
}
