/** Why what was asked for can't be set up. A command names its option, a page shows it at its field. */
export class SetupFault extends Error {
  /** The field that it is about, as in `ChannelFields`; of a config, `config.` and its own field. */
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** `3 sends that have not ended`. @param count as the database counts them, to 1000 (db/accounts/installation.ts). */
export const unfinishedSends = (count: number): string =>
  `${count >= 1000 ? 'at least ' : ''}${count} ${count === 1 ? 'send that has' : 'sends that have'} not ended`
