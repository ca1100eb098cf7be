/** How a command can end, with its exit code: docs/reference/cli.md#exit-codes. Scripts rely on them. */
export const exitCodes = {
  done: 0,
  /** Anything else: an internal error, or work that didn't end as it should. */
  failed: 1,
  /** A plan has something to change. */
  differs: 2,
  not_found: 3,
  /** A rule, or the state that something is in, forbids it. */
  refused: 4,
  /** PostgreSQL can't be used. */
  store_away: 5,
  /** The command line, a file that it names, or a setting is faulty. */
  usage: 64,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Why a command failed: the `code` of `--json`. */
export type FailureCode = Exclude<keyof typeof exitCodes, 'done' | 'differs'>

/** Ends a command that has printed what differs. */
export class Differs extends Error {}
