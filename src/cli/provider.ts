import type { Command } from 'commander'
import {
  channelsOfProvider,
  listFiles,
  readFiles,
  removeFile,
  setFile,
} from '../../db/accounts/provider-files.ts'
import { audited } from '../../db/audit/record.ts'
import type { Database, Transaction } from '../../db/connection/client.ts'
import { openConfig } from '../core/channels/sealed-config.ts'
import { describeIssue, describeIssues } from '../core/requests/issues.ts'
import { credentialsKeys } from '../platform/settings/settings.ts'
import { type CompiledFile, hashOf } from '../providers/files/compile.ts'
import { formSchema } from '../providers/files/form-schema.ts'
import { isCoded, knownNames, providerOf } from '../providers/known.ts'
import { shippedNames, shippedText } from '../providers/shipped.ts'
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
        const { db, actor } = context
        const content = readText(options.file)
        const { file } = await checkedFile(content)
        const { form, hash } = file
        const { name } = form
        if (isCoded(name))
          throw new CliError('refused', `${name} is built in: give your provider another name`)
        await audited(
          db,
          async (transaction) => {
            await setFile(transaction, { name, content, hash })
            await checkConfigs(transaction, file, context)
          },
          () => ({ ...actor, action: 'provider.set', target: name, details: { hash } }),
        )
        return { name, hash }
      }),
    )
  provider
    .command('remove')
    .description('remove the file that was set; refused while a channel uses it')
    .argument('<name>', "the provider's name")
    .action((name: string, _options: object, command: Command) =>
      answer(command, async ({ db, actor }) => {
        const isRemoved = await audited(
          db,
          async (transaction) => {
            const wasThere = await removeFile(transaction, name)
            const [used] = wasThere ? await channelsOfProvider(transaction, name) : []
            if (used)
              throw new CliError(
                'refused',
                `Channel ${used.channelId} uses ${name}: delete the channel first, or set another file of this name`,
              )
            return wasThere
          },
          (wasThere) => wasThere && { ...actor, action: 'provider.remove', target: name },
        )
        if (!isRemoved) throw noProvider(name)
        return { name }
      }),
    )
}

/** The configs of the channels that use the file have to fit its new version: else their sends would find no config. */
async function checkConfigs(
  transaction: Transaction,
  { form: { name }, provider }: CompiledFile,
  { setting }: Pick<CliContext, 'setting'>,
): Promise<void> {
  for (const { channelId, sealedConfig } of await channelsOfProvider(transaction, name)) {
    const keys = credentialsKeys({
      CREDENTIALS_KEY: setting('CREDENTIALS_KEY'),
      CREDENTIALS_KEY_PREVIOUS: setting('CREDENTIALS_KEY_PREVIOUS'),
    })
    const parsed = provider.config.safeParse(openConfig(sealedConfig, channelId, keys), {
      error: describeIssue,
    })
    if (!parsed.success)
      throw new CliError(
        'refused',
        `The config of channel ${channelId} does not fit this file: ${describeIssues(parsed.error.issues)}. Change the config or the file, or use another name for the file`,
      )
  }
}

function noProvider(name: string): CliError {
  return new CliError(
    'not_found',
    `No file of a provider is named ${name}; see them with: outbound provider list`,
  )
}
