import { expect, test } from 'vitest'
import { createLogger, logFault } from '../../../../src/platform/log/logger.ts'

function logTo(lines: string[]) {
  return createLogger('info', {
    write(line) {
      lines.push(line)
    },
  })
}

class OwnFault extends Error {
  override readonly name = 'OwnFault'
}

test('a fault is logged with its name, its code and where it came from, but not what it quotes', () => {
  const lines: string[] = []
  const fault = Object.assign(new OwnFault('no row for "+4915112345678"'), {
    code: 'P0001',
    detail: 'content',
  })
  logFault(logTo(lines), 'dispatch_fault', fault, { requestId: 'a' })
  expect(JSON.parse(lines.join())).toEqual({
    level: 'error',
    time: expect.any(String),
    requestId: 'a',
    event: 'dispatch_fault',
    msg: 'no row for …',
    err: {
      type: 'OwnFault',
      message: 'no row for …',
      code: 'P0001',
      stack: expect.stringContaining('    at '),
    },
  })
})

test.each([
  { error: 'text', type: 'string' },
  { error: null, type: 'object' },
  { error: { contact: '+4915112345678' }, type: 'object' },
])('what was thrown and is no error is logged as its type: $error', ({ error, type }) => {
  const lines: string[] = []
  logFault(logTo(lines), 'dispatch_fault', error)
  expect(JSON.parse(lines.join()).err).toEqual({ type, message: 'not an error' })
})
