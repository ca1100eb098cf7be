/** An answer with a part of a list. */
export interface Page {
  /** Where the next page begins; null after the last. */
  next: string | null
}

type ItemOf<Of extends Page, Field extends keyof Of> = Of[Field] extends readonly (infer Item)[]
  ? Item
  : never

/**
 * A list of the API, whose pages are read while you iterate.
 *
 * @example
 * for await (const send of client.listMessages({ status: 'failed' })) console.log(send.requestId)
 */
export class Pages<Of extends Page, Field extends keyof Of> implements AsyncIterable<ItemOf<Of, Field>> {
  readonly #field: Field
  readonly #read: (after: string | undefined) => Promise<Of>

  /** @param read a page, from the first or after a `next`. */
  constructor(field: Field, read: (after: string | undefined) => Promise<Of>) {
    this.#field = field
    this.#read = read
  }

  /** Page by page, each as the API answers it. A page may be empty although more follow. */
  async *pages(): AsyncGenerator<Of, void, undefined> {
    let after: string | undefined
    do {
      const page = await this.#read(after)
      yield page
      after = page.next ?? undefined
    } while (after !== undefined)
  }

  /** Item by item. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ItemOf<Of, Field>, void, undefined> {
    for await (const page of this.pages()) yield* page[this.#field] as ItemOf<Of, Field>[]
  }
}
