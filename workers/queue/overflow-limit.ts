/** More would make sends of others wait behind the outcomes of a backlog. Fewer would hardly move a backlog beside others. */
export const minWork = 4
/** Beyond this, batches get no cheaper. */
export const maxWork = 256
export const raisedBy = 1 / 32

/**
 * How many sends of the overflow the worker may work on at a time. It follows a method with which TCP shares a line (Scalable
 * TCP): each send of the overflow that ends while others of it wait adds 1/32, each send of an account that has no overflow
 * halves it. So a backlog has the worker for itself while nobody else sends, and gives way within a few sends of others.
 */
export class OverflowLimit {
  #current = minWork

  /** Never below this, so that the overflow isn't starved. */
  readonly min = minWork

  get current(): number {
    return this.#current
  }

  raise(): void {
    this.#current = Math.min(maxWork, this.#current + raisedBy)
  }

  lower(): void {
    this.#current = Math.max(minWork, this.#current / 2)
  }
}
