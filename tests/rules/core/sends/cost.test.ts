import { expect, test } from 'vitest'
import { costOf } from '../../../../src/core/sends/cost.ts'

test.each([
  ['a text', { amount: '0.0333', currency: 'EUR' }, { amount: '0.0333', currency: 'EUR', parts: null }],
  ['a number', { amount: 0.0455, currency: 'eur' }, { amount: '0.0455', currency: 'EUR', parts: null }],
  ['a whole number', { amount: 2, currency: 'USD' }, { amount: '2', currency: 'USD', parts: null }],
  ['a tiny number', { amount: 5e-7, currency: 'USD' }, { amount: '0.0000005', currency: 'USD', parts: null }],
  ['an exponent', { amount: '1.5E+2', currency: 'USD' }, { amount: '150', currency: 'USD', parts: null }],
  [
    'zeros around it',
    { amount: '007.50', currency: 'USD' },
    { amount: '7.50', currency: 'USD', parts: null },
  ],
  ['its currency before it', { amount: 'KES 0.8000' }, { amount: '0.8000', currency: 'KES', parts: null }],
  ['its currency behind it', { amount: '0.8 KES' }, { amount: '0.8', currency: 'KES', parts: null }],
  ['parts alone', { parts: '3' }, { amount: null, currency: null, parts: 3 }],
  [
    'a price of a part, exactly',
    { amountOfPart: 0.07, currency: 'EUR', parts: 3 },
    { amount: '0.21', currency: 'EUR', parts: 3 },
  ],
  [
    'the price of the whole before that of a part',
    { amount: '1', amountOfPart: '0.07', currency: 'EUR', parts: 3 },
    { amount: '1', currency: 'EUR', parts: 3 },
  ],
])('a cost is read of %s', (_, words, cost) => {
  expect(costOf(words)).toEqual(cost)
})

test.each([
  ['no words', {}],
  ['an amount without a currency', { amount: '0.05' }],
  ['a currency without an amount', { currency: 'EUR' }],
  ['a price of a part without the parts', { amountOfPart: '0.05', currency: 'EUR' }],
  ['a comma', { amount: '0,05', currency: 'EUR' }],
  ['a negative amount', { amount: '-0.05', currency: 'USD' }],
  ['a word', { amount: 'free', currency: 'USD' }],
  ['no number', { amount: Number.NaN, currency: 'USD' }],
  ['an endless number', { amount: '1e99', currency: 'USD' }],
  ['too many digits', { amount: '1'.repeat(13), currency: 'USD' }],
  ['too many digits behind the point', { amount: `0.${'1'.repeat(13)}`, currency: 'USD' }],
  ['a currency that is none', { amount: '1', currency: 'credits' }],
  ['an object', { amount: { value: 1 }, currency: ['EUR'] }],
  ['no part', { parts: 0 }],
  ['half a part', { parts: 1.5 }],
  ['too many parts', { parts: 1001 }],
])('%s is no cost', (_, words) => {
  expect(costOf(words)).toBeUndefined()
})
