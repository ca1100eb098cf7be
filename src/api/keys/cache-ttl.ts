/**
 * How long an API process keeps what it has read of keys and channels. A change takes effect after at most this long, and the
 * time of a look-up; the docs promise 3 s.
 */
export const cacheTtlMs = 2000
