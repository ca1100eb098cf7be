import { expect, test } from 'vitest'
import { redisAdvice } from '../../../src/platform/redis-advice.ts'

test.each([
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'REDIS_URL: its host has to be the name'],
  ['CERT_HAS_EXPIRED', "Redis's certificate, which has expired: renew it"],
  ['CERT_NOT_YET_VALID', "this machine's clock: Redis's certificate is not valid yet"],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'NODE_EXTRA_CA_CERTS'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'NODE_EXTRA_CA_CERTS'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'NODE_EXTRA_CA_CERTS'],
  ['ECONNREFUSED', 'REDIS_URL, and that Redis runs'],
  [undefined, 'REDIS_URL, and that Redis runs'],
])('after the error %s, the log says what to check', (code, advice) => {
  expect(redisAdvice(Object.assign(new Error(), { code })).startsWith(advice)).toBe(true)
})

test.each(['eval', 'select'])('a user that may not run %s: its rights', (name) => {
  const error = Object.assign(new Error(`NOPERM this user has no permissions to run the '${name}' command`), {
    name: 'ReplyError',
    command: { name },
  })
  expect(redisAdvice(error)).toMatch(/^the rights of the user in REDIS_URL/)
})
