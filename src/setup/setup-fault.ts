/** Why what was asked for can't be set up. A command names its option, a page shows it at its field. */
export class SetupFault extends Error {
  /** The field that it is about, as in `ChannelFields`; of a config, `config.` and its own field. */
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}
