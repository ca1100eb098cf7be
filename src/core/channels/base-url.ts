import { optional, string } from '../requests/fields.ts'
import { parseUrl } from '../requests/parse-url.ts'

/** The address of a provider's HTTP API: `ownAddress`, unless the config has another one, e.g. of a proxy or an emulator. */
export const baseUrl = (ownAddress: string) =>
  optional(
    string
      .refine(
        (value) => /^https?:\/\/[^\s/?#@\\]+(\/[^\s?#]*)?$/i.test(value) && parseUrl(value) !== undefined,
        {
          error: `has to be a URL without user name, query and fragment, e.g. ${ownAddress}`,
        },
      )
      .transform((value) => value.replace(/\/+$/, '')),
  ).transform((value) => value ?? ownAddress)
