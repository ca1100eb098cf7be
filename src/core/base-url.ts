import { optional, string } from './fields.ts'
import { parseUrl } from './parse-url.ts'

/** Where a provider's HTTP API is: its own address unless the config has another, e.g. that of a proxy or an emulator. */
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
