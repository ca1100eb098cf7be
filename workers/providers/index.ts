import type { Database } from '../../db/client.ts'
import { mediaLinkMs, mintMediaLink } from '../../src/core/media-link.ts'
import type { ProviderName } from '../../src/core/providers/index.ts'
import type { Settings } from '../../src/platform/settings.ts'
import type { Provider } from '../provider.ts'
import { traceHttp } from '../trace.ts'
import { createMediaFetcher } from './fetch-media.ts'
import { createHttpClient } from './http.ts'
import { sandbox } from './sandbox.ts'
import { smtp } from './smtp.ts'
import { twilio } from './twilio.ts'
import { webhook } from './webhook.ts'
import { whatsappCloud } from './whatsapp-cloud.ts'

/** How each provider sends, by the names of src/core/providers/. */
export type Providers = Record<ProviderName, Provider>

export interface OpenProviders {
  providers: Providers
  /** Closes the connections they keep. */
  close(): Promise<void>
}

/** Connects nothing yet: each provider does when it is first called. */
export function openProviders(db: Database, settings: Settings): OpenProviders {
  const allowedPrivateNetworks = settings.ALLOWED_PRIVATE_NETWORKS
  const http = traceHttp(createHttpClient({ allowedPrivateNetworks }))
  const media = createMediaFetcher({ allowedPrivateNetworks })
  return {
    providers: {
      sandbox: sandbox(db),
      smtp: smtp(media),
      twilio: twilio(http, mediaLinks(settings)),
      webhook: webhook(http),
      'whatsapp-cloud': whatsappCloud(http),
    },
    close: async () => void (await Promise.all([http.close(), media.close()])),
  }
}

/** Makes links to the media of sends; undefined where providers can't reach this service. */
function mediaLinks({ PUBLIC_BASE_URL, CREDENTIALS_KEY }: Settings) {
  return (requestId: string) =>
    PUBLIC_BASE_URL &&
    mintMediaLink(PUBLIC_BASE_URL, requestId, new Date(Date.now() + mediaLinkMs), CREDENTIALS_KEY)
}
