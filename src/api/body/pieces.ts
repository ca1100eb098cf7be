/** From here on a piece is kept as it is; Node.js reads up to 64 KiB at once. */
const worthKeepingBytes = 32 * 1024
const blockBytes = 64 * 1024

/**
 * Gathers bytes in the pieces in which they come: those of a large body, which are 64 KiB mostly, are neither copied nor left
 * behind as garbage, but can be moved to a thread. Small pieces, of which a hostile client makes millions, are put together.
 */
export class Pieces {
  readonly #pieces: Buffer[] = []
  #block: Buffer = Buffer.alloc(0)
  #used = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  add(piece: Buffer): void {
    this.#length += piece.length
    if (piece.length >= worthKeepingBytes && isItsOwn(piece)) {
      this.#endBlock()
      this.#pieces.push(piece)
    } else {
      for (let from = 0; from < piece.length; from += blockBytes)
        this.#gather(piece.subarray(from, from + blockBytes))
    }
  }

  #gather(piece: Buffer): void {
    if (this.#used + piece.length > blockBytes) this.#endBlock()
    const length = this.#used + piece.length
    if (length > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(Math.max(length, 2 * this.#block.length), blockBytes))
      this.#block.copy(larger, 0, 0, this.#used)
      this.#block = larger
    }
    this.#used += piece.copy(this.#block, this.#used)
  }

  /** All that have come, in their order; each has its memory for itself. */
  all(): Buffer[] {
    this.#endBlock()
    return this.#pieces
  }

  #endBlock(): void {
    if (this.#used === 0) return
    const bytes = Buffer.allocUnsafeSlow(this.#used)
    this.#block.copy(bytes)
    this.#pieces.push(bytes)
    this.#used = 0
  }
}

/** Moved to a thread, it takes nothing else with it. */
function isItsOwn({ byteLength, buffer }: Buffer): boolean {
  return byteLength === buffer.byteLength
}

export function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

export function inOne(pieces: readonly Buffer[]): Buffer {
  const [only] = pieces
  return only && pieces.length === 1 ? only : Buffer.concat(pieces)
}

/**
 * Makes one that puts pieces together in the memory of those before, which are gone then: to be given as much anew each
 * time would take longer than the rest.
 */
export function joiner() {
  let memory = Buffer.alloc(0)
  return (pieces: readonly Uint8Array[]): Buffer => {
    const length = lengthOf(pieces)
    if (length > memory.length) memory = Buffer.allocUnsafeSlow(length)
    let joined = 0
    for (const piece of pieces) {
      memory.set(piece, joined)
      joined += piece.length
    }
    return memory.subarray(0, length)
  }
}
