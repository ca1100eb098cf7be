/** How many things a command or a page was asked to change and left out, by the reason. */
type Counts<Why extends string> = Readonly<Record<Why, number>>

/** Why the sends of a set are not replayed: in this order, the first that holds. */
export const skippedAs = ['gone', 'suppressed', 'refused', 'expired'] as const
export type SkippedSends = Record<(typeof skippedAs)[number], number>

export const noneSkipped: SkippedSends = { gone: 0, suppressed: 0, refused: 0, expired: 0 }

export const sumOfSkipped = (one: SkippedSends, other: SkippedSends): SkippedSends => ({
  gone: one.gone + other.gone,
  suppressed: one.suppressed + other.suppressed,
  refused: one.refused + other.refused,
  expired: one.expired + other.expired,
})

const verb = (count: number, one: string, more: string) => (count === 1 ? one : more)

/** The words about each reason, after its number. */
const words = {
  gone: () => 'canceled, or without the media, which is no longer kept',
  suppressed: () => 'to suppressed contacts',
  refused: () => 'refused for good: the provider would refuse them again',
  expired: () => 'expired, or would have expired by now',
  waiting: (count) => `${verb(count, 'waits', 'wait')} for a call anyway`,
  delivered: (count) => `${verb(count, 'was', 'were')} delivered, and not given up`,
  earlier: (count) => `${verb(count, 'is of a change', 'are of changes')} before the time given`,
  tooLate: (count) => `${verb(count, 'was', 'were')} being sent, or had ended`,
  sent: (count) => `${verb(count, 'was', 'were')} sent already`,
  failed: (count) => `${verb(count, 'has', 'have')} failed`,
  uncertain: (count) => `${verb(count, 'is', 'are')} uncertain`,
  canceled: (count) => `${verb(count, 'was', 'were')} canceled before`,
  listed: () => 'on the list already, or in the file twice',
  sealed: () => 'sealed with CREDENTIALS_KEY before',
  forgotten: (count) => `${verb(count, 'is', 'are')} no longer known to the provider`,
  noNews: (count) => `${verb(count, 'has', 'have')} no other state at the provider`,
  unfinished: (count) => `${verb(count, 'has', 'have')} not ended: erase the contact again later`,
} satisfies Record<string, (count: number) => string>

export type LeftOutAs = keyof typeof words

/** Each reason with its number, for people, such as `2 to suppressed contacts`. */
export const leftOutReasons = (counts: Partial<Counts<LeftOutAs>>): string[] =>
  (Object.keys(words) as LeftOutAs[]).flatMap((why) => {
    const count = counts[why] ?? 0
    return count > 0 ? [`${count.toLocaleString('en-US')} ${words[why](count)}`] : []
  })

/**
 * Why some were left out, for people; where nothing was done, why not. Empty if there is nothing to say.
 *
 * @param done how many were changed.
 * @param ifNone said where nothing was done, and nothing left out.
 */
export function whatWasLeftOut(done: number, counts: Partial<Counts<LeftOutAs>>, ifNone: string): string {
  const reasons = leftOutReasons(counts)
  if (reasons.length > 0) return `Left out: ${reasons.join('; ')}.`
  return done === 0 ? ifNone : ''
}

/** Where there was nothing to change: why not. */
export const nothingThere = {
  callbacks: 'The endpoint has no callbacks: none were made for it, or they are no longer kept.',
  replay:
    'No send has this state and matches. Erased ones, and those that are no longer kept, can not be replayed.',
  cancel: 'The account has no such send: none was accepted, or they are no longer kept.',
  import: 'The file has no entry.',
  rotate: 'No channel has a config, and no endpoint a secret.',
  receipts:
    'No message that was accepted since then and sent lacks its delivery state. An earlier --since looks further back.',
  delete: 'No send of the channel waited.',
  erase:
    'The account has no send to this contact, or all were erased before. Other accounts are not looked at.',
} as const

/** Why a contact was not suppressed: it is. */
export const suppressedBefore = ({ cause, createdAt }: { cause: string; createdAt: string }): string =>
  `Nothing was added: the contact has been suppressed since ${createdAt} (${cause}). That entry stays as it is, with its reason.`

/** Why no suppression was removed. */
export const notSuppressed = {
  never: 'There is no such entry',
  removed: ({ by, at }: { by: string; at: Date }) =>
    `There is no such entry: ${by} removed it at ${at.toISOString()}`,
  /** @param channelIds null for all channels. */
  elsewhere: (channelIds: readonly (string | null)[]) =>
    `There is no such entry: the contact is suppressed on ${channelIds.map((id) => id ?? 'all channels').join(', ')}`,
  contact: 'There is no such entry: the contact is not suppressed',
} as const
