/** A piece of at least this size is kept without copying. Node.js reads up to 64 KiB at once. */
const worthKeepingBytes = 32 * 1024
const blockBytes = 64 * 1024

/**
 * Collects a body in pieces. Large pieces, mostly of 64 KiB, are kept without copying, so that they can be moved to a thread and
 * leave no garbage. Small pieces, of which a hostile client can send millions, are joined to blocks.
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
    if (piece.length >= worthKeepingBytes && ownsBuffer(piece)) {
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

  /** All pieces in order. None shares its memory with another. */
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

/** Whether moving the piece to a thread moves no other data with it. */
function ownsBuffer({ byteLength, buffer }: Buffer): boolean {
  return byteLength === buffer.byteLength
}

export function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

export function joined(pieces: readonly Buffer[]): Buffer {
  const [only] = pieces
  return only && pieces.length === 1 ? only : Buffer.concat(pieces)
}

/**
 * Creates a function that joins pieces into one buffer, which it reuses: its result is valid until the next call. Allocating
 * so much memory for each body would take longer than the rest.
 */
export function createJoin() {
  let memory = Buffer.alloc(0)
  return (pieces: readonly Uint8Array[]): Buffer => {
    const length = lengthOf(pieces)
    if (length > memory.length) memory = Buffer.allocUnsafeSlow(length)
    let at = 0
    for (const piece of pieces) {
      memory.set(piece, at)
      at += piece.length
    }
    return memory.subarray(0, length)
  }
}
