import { expect, test } from 'vitest'
import { ownReasons } from '../../../src/core/sends/own-reasons.ts'
import { causes } from '../../../src/core/suppression/suppression.ts'
import {
  type CallEffect,
  type ClientLedgerEntry,
  compareLedgers,
  type Ledgers,
  type SendRow,
} from '../../chaos/ledgers.ts'

const client: ClientLedgerEntry = {
  key: 'key-1',
  contact: '+4915112345678',
  requestIds: ['send-1'],
  isRefused: false,
}
const call: CallEffect = { requestId: 'send-1', contact: '+4915112345678', effect: 'accepted' }
const row: SendRow = {
  requestId: 'send-1',
  contact: '+4915112345678',
  status: 'sent',
  failure: null,
  onUncertain: 'hold',
}
const refused: CallEffect = { ...call, effect: 'refused' }
const refusedClient: ClientLedgerEntry = { ...client, requestIds: [], isRefused: true }
const delivered = new Set(['send-1'])
const unknown: CallEffect = { ...call, effect: 'unknown' }

const compare = (changes: Partial<Ledgers>) =>
  compareLedgers({
    ...{ clients: [client], calls: [call], rows: [row], delivered: new Set<string>(), attempts: 3 },
    ...changes,
  })

test('a send that was accepted, called once and sent is neither lost nor doubled', () => {
  expect(compare({})).toEqual({ accepted: 1, lost: [], doubled: [], contradicted: [], uncertain: 0 })
})

test.each<[string, Partial<Ledgers>]>([
  ['calls that were refused before the one that counts', { calls: [refused, refused, call] }],
  [
    'two clients with one contact, with a send each',
    {
      clients: [client, { ...client, key: 'key-2', requestIds: ['send-2'] }],
      calls: [call, { ...call, requestId: 'send-2' }],
      rows: [row, { ...row, requestId: 'send-2' }],
    },
  ],
  ['a client that got the same requestId again', { clients: [{ ...client, requestIds: ['send-1'] }] }],
  [
    'a send that failed because its provider was not called',
    { calls: [], rows: [{ ...row, status: 'failed', failure: 'no lease; the provider was not called' }] },
  ],
  [
    'a send that failed because its contact is suppressed',
    { calls: [], rows: [{ ...row, status: 'failed', failure: causes.manual.storedReason }] },
  ],
  [
    'a send that was refused as often as it has attempts',
    { calls: [refused, refused, refused], rows: [{ ...row, status: 'failed' }] },
  ],
  ['a client that was refused', { clients: [refusedClient], calls: [], rows: [] }],
  [
    'a send that was given up',
    {
      calls: [unknown, unknown],
      rows: [{ ...row, status: 'failed', failure: ownReasons.givenUp, onUncertain: 'resend' }],
    },
  ],
  ['a repeat under resend', { calls: [unknown, call], rows: [{ ...row, onUncertain: 'resend' }] }],
  ['a send whose caller was killed, and whose receipt came', { calls: [unknown], delivered }],
  ['a send whose client got no answer', { clients: [{ ...client, requestIds: [] }] }],
])('nothing is wrong with %s', (_, changes) => {
  expect(compare(changes)).toMatchObject({ lost: [], doubled: [], contradicted: [], uncertain: 0 })
})

test.each<[string, Partial<Ledgers>, RegExp]>([
  ['acknowledged and not recorded', { calls: [], rows: [] }, /not in the database/],
  ['left queued', { rows: [{ ...row, status: 'queued' }] }, /still queued \(calls: accepted\)/],
  ['left sending', { rows: [{ ...row, status: 'sending' }] }, /still sending/],
  ['sent without a call', { calls: [] }, /accepted no call \(calls: none\)/],
  ['sent after a refusal', { calls: [refused] }, /accepted no call/],
  ['sent though the answer never came', { calls: [unknown] }, /accepted no call/],
  [
    'sent though the receipt was of another',
    { calls: [unknown], delivered: new Set(['send-2']) },
    /accepted no call/,
  ],
  [
    'uncertain though reported as delivered',
    { calls: [unknown], rows: [{ ...row, status: 'uncertain' }], delivered },
    /uncertain, but .* delivered \(calls: unknown\)/,
  ],
  [
    'failed though reported as delivered',
    { calls: [unknown], rows: [{ ...row, status: 'failed' }], delivered },
    /provider accepted a call/,
  ],
  ['failed though accepted', { rows: [{ ...row, status: 'failed' }] }, /provider accepted a call/],
  [
    'suppressed though called',
    { calls: [unknown], rows: [{ ...row, status: 'failed', failure: causes.manual.storedReason }] },
    /failed without 3 refusals/,
  ],
  [
    'failed though called, and said not to be',
    { calls: [unknown], rows: [{ ...row, status: 'failed', failure: 'the provider was not called' }] },
    /refusal/,
  ],
  ['failed without a call', { calls: [], rows: [{ ...row, status: 'failed', failure: 'x' }] }, /refusals: x/],
  ['failed though open', { calls: [refused, unknown], rows: [{ ...row, status: 'failed' }] }, /refusal/],
  [
    'failed before its last attempt',
    { calls: [refused, refused], rows: [{ ...row, status: 'failed' }] },
    /without 3 refusals/,
  ],
  [
    'failed though one of its attempts is open',
    { calls: [refused, refused, unknown], rows: [{ ...row, status: 'failed' }] },
    /refusal/,
  ],
  [
    'left behind though no client got an answer',
    { clients: [], rows: [{ ...row, status: 'queued' }] },
    /unfinished/,
  ],
])('lost: %s', (_, changes, what) => {
  const { lost, doubled } = compare(changes)
  expect(lost).toEqual([{ requestId: 'send-1', what: expect.stringMatching(what) }])
  expect(doubled).toEqual([])
})

test.each<[string, Partial<Ledgers>, string, RegExp]>([
  ['accepted twice', { calls: [call, call] }, 'send-1', /called 2 times/],
  ['called again after an open call', { calls: [unknown, call] }, 'send-1', /unknown, accepted/],
  ['called again although a refusal came between', { calls: [call, refused, call] }, 'send-1', /called 2/],
  ['called twice though no client got an answer', { clients: [], calls: [call, call] }, 'send-1', /called 2/],
  [
    'one key with two requestIds',
    { clients: [{ ...client, requestIds: ['send-1', 'send-2'] }] },
    'send-2',
    /key-1/,
  ],
  [
    'one key recorded twice',
    { rows: [row, { ...row, requestId: 'send-2' }] },
    'send-2',
    /recorded for one key/,
  ],
])('doubled: %s', (_, changes, requestId, what) => {
  const { doubled } = compare(changes)
  expect(doubled).toEqual([{ requestId, what: expect.stringMatching(what) }])
})

test.each<[string, Partial<Ledgers>, RegExp]>([
  ['called, and not recorded', { clients: [], rows: [] }, /called, but not in the database/],
  ['called for another contact', { calls: [{ ...call, contact: '+491' }] }, /but called for \+491/],
  ['accepted for another client', { clients: [{ ...client, contact: '+491' }] }, /accepted for key key-1/],
  ['refused, and recorded', { clients: [refusedClient], calls: [] }, /refused with 503, but sent/],
  ['refused, and called', { clients: [refusedClient], rows: [] }, /refused with 503, but sent/],
])('contradicted: %s', (_, changes, what) => {
  const { contradicted } = compare(changes)
  expect(contradicted).toContainEqual({ requestId: 'send-1', what: expect.stringMatching(what) })
})

test('an uncertain send is counted, and neither lost nor doubled', () => {
  const rows: SendRow[] = [{ ...row, status: 'uncertain' }]
  const expected = { accepted: 1, lost: [], doubled: [], contradicted: [], uncertain: 1 }
  expect(compare({ calls: [], rows })).toEqual(expected)
  expect(compare({ calls: [unknown], rows })).toEqual(expected)
  expect(compare({ calls: [call], rows })).toEqual(expected)
})
