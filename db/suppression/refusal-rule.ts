import { acceptableShares } from '../../src/core/suppression/suppression.ts'

/** SQL that is true for a cause of which a channel may have too many. */
export const isRefusal = (cause: string) =>
  `${cause} in (${acceptableShares.map((one) => `'${one.cause}'`).join(', ')})`

/** SQL of the share of such a cause beyond which vendors act on senders. */
export const acceptableShareOf = (cause: string) =>
  `case ${cause} ${acceptableShares
    .map((one) => `when '${one.cause}' then ${one.acceptableShare}`)
    .join(' ')} end`
