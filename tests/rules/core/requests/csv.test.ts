import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { csvFields, csvRecord, plainText, textOf } from '../../../../src/core/requests/csv.ts'
import {
  checkCsv,
  csvHeader,
  csvLine,
  entriesOfCsv,
} from '../../../../src/core/suppression/suppression-csv.ts'

const linesOf = (file: string) => file.split('\n').map((line, index): [number, string] => [index + 1, line])

async function read(file: string) {
  const checked = await checkCsv(linesOf(file), () => true)
  if ('faults' in checked) return checked.faults
  const entries: string[] = []
  const changed = (number: number): never => {
    throw new Error(`line ${number}`)
  }
  for await (const page of entriesOfCsv(linesOf(file), () => true, 100, changed))
    entries.push(...page.map(({ contact, reason }) => `${contact.value} ${reason}`))
  expect(entries).toHaveLength(checked.entries)
  return entries
}

describe('a file of suppressions', () => {
  test.each([
    ['a quoted header', '"contact","channelId","reason"\r\n"ann@example.com","","x"\r\n'],
    ['a header in capitals with blanks', ' Contact , CHANNELID,reason \nann@example.com,,x'],
    ['blanks around quotes', '"contact" , "channelId", "reason"\n "ann@example.com" ,, "x" \n'],
    ['semicolons', 'contact;channelId;reason\r\nann@example.com;;x'],
    ['tabs', 'contact\tchannelId\treason\nann@example.com\t\tx'],
    ['quotes and tabs', '"contact"\t"channelId"\t"reason"\n"ann@example.com"\t""\t"x"'],
    ['sep= before the header', 'sep=;\r\ncontact;channelId;reason\r\nann@example.com;;x'],
    ['a byte order mark and SEP=', '\ufeff"SEP=,"\ncontact,channelId,reason\nann@example.com,,x'],
    ['sep= and a tab', 'sep=\t\ncontact\tchannelId\treason\nann@example.com\t\tx'],
    ['a header in words', '"Contact";"Channel ID";"Reason"\nann@example.com;;x'],
    ['an empty row before the header', 'sep=;\n\ncontact;channelId;reason\nann@example.com;;x'],
    ['blanks alone in a field', 'contact,channelId,reason\n ann@example.com , , x '],
    ['trailing empty rows', 'contact,channelId,reason\nann@example.com,,x\n,,\n,,\n'],
    ['rows of quotes and blanks', 'contact;channelId;reason\nann@example.com;;x\n"";" ";\n   \n;;;;\n'],
    ['empty columns beside it', 'contact,channelId,reason,,\nann@example.com,,x,,\n,,,,'],
  ])('with %s is read', async (_what, file) => {
    expect(await read(file)).toEqual(['ann@example.com x'])
  })

  test('with semicolons may have commas in a reason', async () => {
    expect(await read('contact;channelId;reason\nann@example.com;;no, thanks')).toEqual([
      'ann@example.com no, thanks',
    ])
  })

  test('has its faulty lines named as the file counts them', async () => {
    expect(await read('sep=;\ncontact;channelId;reason\n\n491512345678.0;;x\nann@example.com;x')).toEqual([
      'line 4: contact: ends like a number with decimals; write it as text, such as +4915112345678',
      'line 5: has 2 fields in place of 3',
    ])
    expect(await read('a;b')).toEqual([`line 1: has to be ${csvHeader}`])
    expect(await read('contact,channelId,reason\nann@example.com,,x,more')).toEqual([
      'line 2: has 4 fields in place of 3',
    ])
  })

  test('may hold a number that only earlier releases took, as their export wrote it', async () => {
    expect(await read(`${csvHeader}\n+999999999999,,x`)).toEqual(['+999999999999 x'])
  })

  test('is written as it is read', async () => {
    const contact = { type: 'email', value: '-a@example.com' } as const
    const line = csvLine({ contact, channelId: null, reason: 'a;=1,"b"' })
    expect(line).toBe(`"'-a@example.com",,"a;'=1,""b"""`)
    expect(await read(`${csvHeader}\n${line}`)).toEqual(['-a@example.com a;=1,"b"'])
  })
})

test('each text of a record is in quotes, and begins no formula in any cell that it may become', () => {
  expect(csvRecord(['a', '', '=1', 'a;=1', 'a\t-1', 'a; @x', 'a\n+1', '＝1', "'=1", 'a"b'])).toBe(
    `"a",,"'=1","a;'=1","a'\t'-1","a;' @x","a'\n'+1","'＝1","''=1","a""b"\r\n`
      .replaceAll("a'\t", 'a\t')
      .replaceAll("a'\n", 'a\n'),
  )
})

test('a text comes back from what a spreadsheet takes for text, whatever it has', () => {
  const text = fc.string({ unit: fc.constantFrom('=', "'", ';', '\t', '\n', ' ', '+', 'a', '@') })
  fc.assert(
    fc.property(text, (given) => {
      const plain = plainText(given)
      expect(textOf(plain)).toBe(given)
      expect(plain).not.toMatch(/(^|[;\t\r\n]) *[=+\-@]/)
    }),
    { numRuns: 2000 },
  )
})

test('a quote inside of a field is no field', () => {
  expect(csvFields('a"b,c', ',')).toBeUndefined()
  expect(csvFields('"a', ';')).toBeUndefined()
})
