import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max'

/** Whether two letters are the code of a country that has phone numbers. */
export const isCountry = (code: string): code is CountryCode => isSupportedCountry(code)

/**
 * The countries that a normalised phone number may be of, by the plan of its digits: countries may share a code, such as 1. A number
 * that no plan has may be of each of them. None for a number of no country, such as a satellite's.
 */
export function countriesOf(number: string): readonly string[] {
  const read = parsePhoneNumberFromString(number, { extract: false })
  if (!read) return []
  return read.country ? [read.country] : read.getPossibleCountries()
}
