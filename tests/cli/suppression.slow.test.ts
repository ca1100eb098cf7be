import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { holdChannel } from '../../db/accounts/channels.ts'
import { eraseSuppressions } from '../../db/suppression/entries.ts'
import { causes } from '../../src/core/suppression/suppression.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { runCli, startCli } from '../support/cli.ts'
import { finishedTimeline, serviceOfFile, testSuppressionKey } from '../support/service.ts'

const service = await serviceOfFile()

const suppression = async (...args: string[]) => {
  const { status, stdout, stderr } = await runCli(service, 'suppression', ...args)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

const refusedWith = async (code: number, ...args: string[]) => {
  const { status, stdout, stderr } = await runCli(service, 'suppression', ...args)
  expect({ status, stdout }).toEqual({ status: code, stdout: '' })
  expect(stderr.trim().split('\n')).toHaveLength(1)
  return stderr
}
const refused = (...args: string[]) => refusedWith(64, ...args)
const notFound = (...args: string[]) => refusedWith(3, ...args)

const list = async (accountId: string, ...args: string[]) =>
  (await suppression('list', '--account', accountId, ...args)).suppressions

async function fileOf(...lines: string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'suppressions-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'list.csv')
  await writeFile(path, lines.join('\n'))
  return path
}

const header = 'contact,channelId,reason'

async function exported(accountId: string, ...args: string[]): Promise<string[]> {
  const { output, ended } = startCli(service, {}, 'suppression', 'export', '--account', accountId, ...args)
  expect(await ended).toMatchObject({ status: 0, stderr: '' })
  return output.stdout.trimEnd().split('\n')
}

test('an added contact is listed masked, adding it again returns the same entry, and remove takes it off by id or contact', async () => {
  const { accountId, channelId } = await buildAccount(service)
  const add = (...args: string[]) => suppression('add', '--account', accountId, ...args)
  const entry = await add('--contact', 'Ann@Example.com', '--reason', 'asked by letter')
  expect(entry).toEqual({
    suppressionId: expect.any(String),
    contact: { type: 'email', value: 'A***@example.com' },
    channelId: null,
    cause: 'manual',
    reason: 'asked by letter',
    requestId: null,
    createdAt: expect.any(String),
  })
  expect(await add('--contact', 'Ann@example.com', '--reason', 'another')).toEqual({
    ...entry,
    alreadyThere: true,
  })
  const second = await add('--contact', '0049 151 12345678', '--channel', channelId)
  expect(second).toMatchObject({ contact: { type: 'phone', value: '+49*********78' }, channelId })
  expect(await list(accountId)).toEqual([entry, second])
  expect(await list(accountId, '--limit', '1', '--after', entry.suppressionId)).toEqual([second])
  expect(await list(accountId, '--contact', '+4915112345678')).toEqual([second])

  expect(await suppression('remove', entry.suppressionId, '--account', accountId)).toEqual(entry)
  const byContact = ['--account', accountId, '--contact', '+4915112345678']
  expect(await notFound('remove', ...byContact)).toContain('no such entry')
  expect(await suppression('remove', ...byContact, '--channel', channelId)).toEqual(second)
  expect(await list(accountId)).toEqual([])
})

test('an entry whose contact was erased is listed as `erased`, and isn’t exported', async () => {
  const { accountId } = await buildAccount(service)
  const { suppressionId } = await suppression('add', '--account', accountId, '--contact', 'ann@example.com')
  const contact = { type: 'email', value: 'ann@example.com' } as const
  await eraseSuppressions(service.runtime.db, { accountId, contact }, testSuppressionKey)
  expect(await list(accountId)).toMatchObject([
    { suppressionId, contact: { type: 'email', value: 'erased' } },
  ])
  expect(await exported(accountId)).toEqual([header])
})

test('what can’t be is refused in one line: an unknown account, a foreign channel, no contact', async () => {
  const [own, foreign] = [await buildAccount(service), await buildAccount(service)]
  const toOwn = ['add', '--account', own.accountId]
  const add = (...args: string[]) => refused(...toOwn, ...args)
  expect(await notFound('add', '--account', uuidv7(), '--contact', 'ann@example.com')).toContain('No account')
  const toForeign = [...toOwn, '--contact', 'ann@example.com', '--channel', foreign.channelId]
  expect(await notFound(...toForeign)).toContain('no channel')
  expect(await add('--contact', 'nobody')).toContain('--contact')
  expect(await add('--contact', 'ann@example.com', '--reason', 'two\nlines')).toContain('--reason')
  expect(await notFound('remove', uuidv7(), '--account', own.accountId)).toContain('no such entry')
  expect(await refused('remove', '--account', own.accountId)).toContain('--contact')
})

test('a complaint and an opt-out are removed by id and by contact only with a reason, which the audit keeps', async () => {
  const { accountId } = await buildAccount(service)
  const { $client } = service.runtime.db
  const byContact = ['--account', accountId, '--contact', 'ann@example.com']
  for (const cause of ['complaint', 'opt_out'])
    for (const by of ['id', 'contact']) {
      const { suppressionId } = await suppression('add', ...byContact)
      await $client.query('update suppressions set cause = $1 where id = $2', [cause, suppressionId])
      const remove = ['remove', ...(by === 'id' ? [suppressionId] : byContact)]
      expect(await refused(...remove)).toMatch(/give a reason .*; see: outbound suppression remove --help/)
      expect(await refused(...remove, '--reason', 'ANN@example.com called')).toContain('leave it out')
      expect(await refused(...remove, '--reason', '\u200b')).toContain('with a letter or a digit')
      expect(await list(accountId)).toHaveLength(1)
      expect(await suppression(...remove, '--reason', 'asked by phone')).toMatchObject({
        suppressionId,
        cause,
      })
      expect(await list(accountId)).toEqual([])
      const { rows } = await $client.query(
        `select details from audit where target = $1 and action = 'suppression.remove'`,
        [suppressionId],
      )
      expect(rows).toMatchObject([{ details: { cause, reason: 'asked by phone' } }])
    }
})

test('what export prints is what import reads: quotes, commas and formulas in a reason come back', async () => {
  const [from, to] = [await buildAccount(service), await buildAccount(service)]
  const rows = [
    header,
    '"ann@example.com",,',
    '"+4915112345678",,"says ""no"", twice"',
    `"bob@example.com",,"'=1+1"`,
    `"carl@example.com",,"a;'=1+1"`,
  ]
  const path = await fileOf(...rows)
  expect(await suppression('import', '--account', from.accountId, '--file', path)).toEqual({
    imported: 4,
    alreadyThere: 0,
  })
  expect((await list(from.accountId)).map(({ reason }: { reason: string }) => reason)).toEqual([
    null,
    'says "no", twice',
    '=1+1',
    'a;=1+1',
  ])
  expect(await exported(from.accountId)).toEqual(rows)
  const again = await fileOf(...(await exported(from.accountId)))
  await suppression('import', '--account', to.accountId, '--file', again)
  expect(await exported(to.accountId)).toEqual(rows)
  expect(await suppression('import', '--account', to.accountId, '--file', again)).toEqual({
    imported: 0,
    alreadyThere: 4,
  })
})

test('a file with a byte order mark, CRLF and empty lines is read; contacts are normalised', async () => {
  const { accountId, channelId } = await buildAccount(service)
  const path = await fileOf(
    `\ufeff${header}\r`,
    '0049 151 12345678,,\r',
    '\r',
    `Bob@EXAMPLE.com,${channelId},gone\r`,
    '',
  )
  expect(await suppression('import', '--account', accountId, '--file', path)).toEqual({
    imported: 2,
    alreadyThere: 0,
  })
  expect(await exported(accountId)).toEqual([
    header,
    '"+4915112345678",,',
    `"Bob@example.com","${channelId}","gone"`,
  ])
})

test('a file that is not UTF-8 is refused with its line, and the export can begin with a byte order mark', async () => {
  const { accountId } = await buildAccount(service)
  const path = await fileOf(header, 'ann@example.com,,', '')
  await suppression('import', '--account', accountId, '--file', path)
  await appendFile(path, Buffer.from('bob@example.com,,gel\u00f6scht\n', 'latin1'))
  const stderr = await refused('import', '--account', accountId, '--file', path)
  expect(stderr).toMatch(/line 3: is not UTF-8; save the file as UTF-8/)
  expect(await list(accountId)).toHaveLength(1)
  expect(await exported(accountId, '--bom')).toEqual([`\ufeff${header}`, '"ann@example.com",,'])
})

test('a file with faulty lines is imported not at all, and each is named, without its contact', async () => {
  const [own, foreign] = [await buildAccount(service), await buildAccount(service)]
  const path = await fileOf(
    header,
    'ann@example.com,,',
    'nobody,,',
    `bob@example.com,${foreign.channelId},`,
    'carl@example.com',
    'dora@example.com,,"open',
    `emil@example.com,,${'x'.repeat(501)}`,
  )
  const stderr = await refused('import', '--account', own.accountId, '--file', path)
  for (const line of [
    'line 3: contact',
    'line 4: channelId',
    'line 5: has 1 field',
    'line 6: a quote',
    'line 7: reason',
  ])
    expect(stderr).toContain(line)
  expect(stderr).not.toMatch(/nobody|bob|carl|dora|emil/)
  expect(await list(own.accountId)).toEqual([])

  const noHeader = await fileOf('ann@example.com,,')
  expect(await refused('import', '--account', own.accountId, '--file', noHeader)).toContain(
    `line 1: has to be ${header}`,
  )
  expect(await refused('import', '--account', own.accountId, '--file', await fileOf(header))).toContain(
    'no entries',
  )
  expect(await refused('import', '--account', own.accountId, '--file', '/nowhere/list.csv')).toContain(
    '--file',
  )
})

test('waiting sends of imported contacts fail within seconds, on a held channel too', async () => {
  const account = await buildAccount(service)
  await holdChannel(service.runtime.db, account.channelId, 'held')
  const worker = await service.startWorker()
  const requestId = await accept(service, account, textBody('Hello', 'ann@example.com'))
  const path = await fileOf(header, 'ann@example.com,,', 'bob@example.com,,')
  await suppression('import', '--account', account.accountId, '--file', path)
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  await worker.stop()
  expect(timeline.events.at(-1)).toMatchObject({ event: 'failed', reason: causes.manual.storedReason })
})

test('a large file is imported whole, with its progress', async () => {
  const { accountId } = await buildAccount(service)
  const rows = Array.from({ length: 200_001 }, (_, n) => `c${n}@example.com,,`)
  const path = await fileOf([header, ...rows].join('\n'))
  const { output, ended } = startCli(
    service,
    {},
    'suppression',
    'import',
    '--account',
    accountId,
    '--file',
    path,
  )
  expect(await ended).toMatchObject({ status: 0, stderr: '' })
  expect(output.stdout).toContain('100000 of 200001 entries')
  expect(output.stdout).toMatch(/imported +200001/)
})
