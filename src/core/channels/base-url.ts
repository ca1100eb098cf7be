import { optional, string } from '../requests/fields.ts'
import { parseUrl } from '../requests/parse-url.ts'

/** The address of a provider's HTTP API, which each account has its own of. */
export const ownBaseUrl = (example: string) =>
  string
    .refine(
      (value) => /^https?:\/\/[^\s/?#@\\]+(\/[^\s?#]*)?$/i.test(value) && parseUrl(value) !== undefined,
      {
        error: `has to be a URL without user name, query and fragment, e.g. ${example}`,
      },
    )
    .transform((value) => value.replace(/\/+$/, ''))
    .describe(`the address of the vendor's API, such as ${example}`)

/** The address of a provider's HTTP API: `ownAddress`, unless the config has another one, e.g. of a proxy or an emulator. */
export const baseUrl = (ownAddress: string) =>
  optional(ownBaseUrl(ownAddress))
    .transform((value) => value ?? ownAddress)
    .describe(`the address of the vendor's API, for a proxy or a test; default: ${ownAddress}`)
