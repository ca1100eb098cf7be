import { type Command, Option } from 'commander'
import { fallbackCauses } from '../core/sends/fallback.ts'
import { orderings } from '../core/sends/lane.ts'
import { onUncertainWords } from '../core/sends/outcome.ts'
import { autoCauses } from '../core/suppression/suppression.ts'
import {
  callRate,
  causeList,
  ceilingList,
  countryList,
  fallbackCauseList,
  limit,
  quietFor,
  quietHours,
  quietZone,
  wholeNumber,
} from './arguments.ts'

/** The options of quiet hours. */
export function addQuietOptions(command: Command): Command {
  return command
    .option(
      '--quiet-hours <from-until>',
      'sends due between these local times wait, e.g. 21:00-08:00; "none": at no time',
      quietHours,
    )
    .option(
      '--quiet-zone <zone>',
      "whose local time that is: contact, for that of the phone number; a zone's IANA name; or both, such as contact,Europe/Berlin, for contacts without one; default: contact,UTC",
      quietZone,
    )
    .option('--quiet-for <priorities>', 'the priorities that wait; default: normal,bulk', quietFor)
}

export const rateOption = [
  '--rate <n/seconds>',
  'at most N calls in SECONDS, e.g. 80/1; further sends wait; "none": no limit',
  callRate,
] as const

export const maxInFlightOption = [
  '--max-in-flight <n>',
  'at most N calls at the same time, over all workers; "none": no limit',
  limit,
] as const

export const autoSuppressOption = [
  '--auto-suppress <causes>',
  `suppress contacts after these: ${autoCauses.join(',')}; "none": after nothing; default: all`,
  causeList,
] as const

export const countriesOption = [
  '--countries <codes>',
  'send to phone numbers of these countries only, by their codes of two letters, e.g. DE,AT,CH; "none": of all',
  countryList,
] as const

export const ceilingOption = [
  '--ceiling <ceiling>',
  'call no more than this: an amount of messages or segments in an hour, day or month of UTC, e.g. "10000 messages/day"; up to 4, each with an option of its own; further sends wait; "none": no ceiling',
  ceilingList,
] as const

export const expireAfterOption = [
  '--expire-after <seconds>',
  'fail sends that wait longer than this since their accept or replay; "none": they never expire',
  limit,
] as const

export function orderingOption(): Option {
  return new Option(
    '--ordering <what>',
    "contact: a contact's sends go in the order of their accept; none: each goes as soon as possible; for new sends only",
  ).choices(orderings)
}

export function onUncertainOption(): Option {
  return new Option(
    '--on-uncertain <what>',
    'after a call with unknown outcome: resend calls again, hold leaves the send uncertain',
  ).choices(onUncertainWords)
}

export function oneClickOption(): Option {
  return new Option(
    '--one-click <what>',
    'on: its mails have an address by which their contact unsubscribes with one click; off: they have none; default: off',
  ).choices(['on', 'off'])
}

/** The options of a fallback. */
export function addFallbackOptions(command: Command): Command {
  return command
    .option(
      '--fallback <channel>',
      'the id of the channel by which sends go on that this one could not deliver; "none": no channel',
    )
    .option(
      '--fallback-on <causes>',
      `go on by it after these: ${fallbackCauses.join(',')}; default: all`,
      fallbackCauseList,
    )
    .option(
      '--fallback-within <seconds>',
      'go on by it no later than this after the accept; default: 3600',
      wholeNumber,
    )
}
