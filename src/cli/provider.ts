import type { Command } from 'commander'
import { listFiles, readFiles } from '../../db/accounts/provider-files.ts'
import type { Database } from '../../db/connection/client.ts'
import { hashOf } from '../providers/files/compile.ts'
import { formSchema } from '../providers/files/form-schema.ts'
import { isCoded, knownNames, providerOf } from '../providers/known.ts'
import { shippedNames, shippedText } from '../providers/shipped.ts'
import { removeProviderFile, setProviderFile } from '../setup/provider-files.ts'
import { SetupFault } from '../setup/setup-fault.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { checkedFile, readText } from './provider-file.ts'
import { addTry } from './provider-try.ts'

export function providerCommands(program: Command, answer: Answerer): void {
  const provider = program.command('provider')
  readCommands(provider, answer)
  changeCommands(provider, answer)
  provider
    .command('check')
    .description('hold a file to the contract of all providers; it needs no database')
    .requiredOption('--file <path>', 'the file, YAML or JSON')
    .action((options: { file: string }, command: Command) =>
      answer(
        command,
        async () => {
          const { file, checked } = await checkedFile(readText(options.file))
          return { name: file.form.name, hash: file.hash, ...checked }
        },
        undefined,
        { needsDatabase: false },
      ),
    )
  addTry(provider, answer)
}

function readCommands(provider: Command, answer: Answerer): void {
  provider.command('list').action((_options: object, command: Command) =>
    answer(command, async ({ db }) => {
      const stored = new Map((await listFiles(db)).map((file) => [file.name, file]))
      return { providers: knownNames().map((name) => listed(name, stored.get(name))) }
    }),
  )
  provider
    .command('show')
    .description('print the file of a provider')
    .argument('<name>', "the provider's name")
    .action((name: string, _options: object, command: Command) =>
      answer(
        command,
        async ({ db }) => {
          const content = await contentOf(db, name)
          return { name, hash: hashOf(content), content }
        },
        ({ content }) => content.trimEnd(),
      ),
    )
  provider
    .command('schema')
    .description("print the JSON Schema of a provider's file, by which an editor completes it")
    .action((_options: object, command: Command) =>
      answer(
        command,
        async () => formSchema(),
        (schema) => JSON.stringify(schema, undefined, 2),
        { needsDatabase: false },
      ),
    )
}

function listed(name: string, stored: { hash: string; setAt: Date } | undefined) {
  const { what, contactTypes, receipts } = providerOf(name)
  const isShipped = shippedNames.includes(name)
  const ofRelease = isCoded(name) ? 'built in' : 'a file of the release'
  const source = stored ? `your file${isShipped ? ', which replaces one of the release' : ''}` : ofRelease
  return {
    name,
    what,
    contacts: contactTypes,
    receipts: receipts !== undefined,
    source,
    ...(stored && { hash: stored.hash, setAt: stored.setAt }),
  }
}

async function contentOf(db: Database, name: string): Promise<string> {
  const stored = (await readFiles(db)).find((file) => file.name === name)
  if (stored) return stored.content
  if (shippedNames.includes(name)) return shippedText(name)
  if (isCoded(name))
    throw new CliError(
      'refused',
      `${name} is built in and has no file; see docs/reference/providers/${name}.md`,
    )
  throw noProvider(name)
}

function changeCommands(provider: Command, answer: Answerer): void {
  provider
    .command('set')
    .description('make the file a provider of this service, or replace it; every process uses it within 5 s')
    .requiredOption('--file <path>', 'the file, YAML or JSON')
    .action((options: { file: string }, command: Command) =>
      answer(command, async (context) => {
        const content = readText(options.file)
        const { file } = await checkedFile(content)
        await refusing(setProviderFile(context, { content, file }, () => keysOf(context)))
        const { form, hash } = file
        return { name: form.name, hash }
      }),
    )
  provider
    .command('remove')
    .description('remove the file that was set; refused while a channel uses it')
    .argument('<name>', "the provider's name")
    .action((name: string, _options: object, command: Command) =>
      answer(command, async (context) => {
        const isRemoved = await refusing(removeProviderFile(context, name))
        if (!isRemoved) throw noProvider(name)
        return { name }
      }),
    )
}

const keysOf = ({ setting }: Pick<CliContext, 'setting'>) => ({
  CREDENTIALS_KEY: setting('CREDENTIALS_KEY'),
  CREDENTIALS_KEY_PREVIOUS: setting('CREDENTIALS_KEY_PREVIOUS'),
})

/** The state that the installation is in forbids it, not the command line. */
async function refusing<Result>(change: Promise<Result>): Promise<Result> {
  try {
    return await change
  } catch (error) {
    throw error instanceof SetupFault ? new CliError('refused', error.message) : error
  }
}

function noProvider(name: string): CliError {
  return new CliError(
    'not_found',
    `No file of a provider is named ${name}; see them with: outbound provider list`,
  )
}
