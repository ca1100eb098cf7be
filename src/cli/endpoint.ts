import type { Command } from 'commander'
import { resultOfTest } from '../../db/callbacks/endpoint-tests.ts'
import { findEndpoint, listEndpoints } from '../../db/callbacks/endpoints.ts'
import {
  endpointDisabled,
  endpointSchemas,
  notCalledYet,
  rotationSchema,
  tooManyEndpoints,
} from '../core/callbacks/endpoint-request.ts'
import { canBeRecordId } from '../core/requests/record-id.ts'
import {
  beginTest,
  changeEndpoint,
  endEndpoint,
  makeEndpoint,
  replaceSecret,
  resumeEndpoint,
  stopEndpoint,
} from '../setup/endpoints.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { changeList, checkedOptions, existingAccount, overlapSeconds } from './arguments.ts'

/** Longer than a call may take, and than it takes until a worker finds the test. */
const testMs = 90_000

interface EndpointOptions {
  url?: string
  events?: string[] | 'all'
}

export function endpointCommands(program: Command, answer: Answerer): void {
  const endpoint = program.command('endpoint')
  createCommands(endpoint, answer)
  switchCommands(endpoint, answer)
  endpoint
    .command('rotate-secret')
    .description('replace the secret; until the overlap ends, the former one signs too')
    .argument('<endpoint>', "the endpoint's id")
    .option('--overlap <duration>', '0s to 7d; default: 24h', overlapSeconds)
    .action((id: string, { overlap }: { overlap?: number }, command: Command) =>
      answer(command, async (context) => {
        const rotation = checkedOptions(
          rotationSchema,
          { overlapSeconds: overlap },
          { overlapSeconds: 'overlap' },
        )
        const replaced = await replaceSecret(context, { id, ...rotation }, context.setting('CREDENTIALS_KEY'))
        if (!replaced) throw noEndpoint(id)
        return { endpointId: id, ...replaced }
      }),
    )
  endpoint
    .command('test')
    .description('call the endpoint, and show its answer')
    .argument('<endpoint>', "the endpoint's id")
    .action((id: string, _options: object, command: Command) =>
      answer(command, async (context) => await testEndpoint(context, id)),
    )
}

const eventsOption = [
  '--events <list>',
  'only these, e.g. message.failed,message.delivered; default: all about sends',
] as const

function createCommands(endpoint: Command, answer: Answerer): void {
  endpoint
    .command('create')
    .description('print the secret once')
    .requiredOption('--account <id>', 'the account that gets the callbacks')
    .requiredOption('--url <url>', 'https')
    .option(...eventsOption, changeList)
    .action(({ account, ...options }: EndpointOptions & { account: string }, command: Command) =>
      answer(command, async (context) => {
        const accountId = await existingAccount(context.db, account)
        const fields = checkedOptions(schemasOf(context).create, asBody(options))
        const made = await makeEndpoint(context, { accountId, ...fields }, context.setting('CREDENTIALS_KEY'))
        if (made) return made
        throw new CliError(
          'refused',
          `${tooManyEndpoints} See: outbound endpoint list --account ${accountId}`,
        )
      }),
    )
  endpoint
    .command('list')
    .requiredOption('--account <id>', 'the account that gets the callbacks')
    .action((options: { account: string }, command: Command) =>
      answer(command, async ({ db }) => ({
        endpoints: await listEndpoints(db, await existingAccount(db, options.account)),
      })),
    )
  endpoint
    .command('update')
    .argument('<endpoint>', "the endpoint's id")
    .option('--url <url>', 'https')
    .option(...eventsOption, changeList)
    .action((id: string, options: EndpointOptions, command: Command) =>
      answer(command, async (context) => {
        const fields = checkedOptions(schemasOf(context).update, asBody(options))
        if (await changeEndpoint(context, id, fields)) return { endpointId: id }
        throw noEndpoint(id)
      }),
    )
}

function switchCommands(endpoint: Command, answer: Answerer): void {
  const change = (
    name: 'enable' | 'disable' | 'delete',
    description: string,
    work: (making: CliContext, id: string) => Promise<boolean>,
  ) =>
    endpoint
      .command(name)
      .description(description)
      .argument('<endpoint>', "the endpoint's id")
      .action((id: string, _options: object, command: Command) =>
        answer(command, async (context) => {
          if (await work(context, id)) return { endpointId: id }
          throw noEndpoint(id)
        }),
      )
  change('enable', 'call it again, with all that was kept meanwhile', resumeEndpoint)
  change('disable', 'stop its calls; new and waiting callbacks are kept', (making, id) =>
    stopEndpoint(making, id),
  )
  change('delete', 'delete it for good, with its callbacks', endEndpoint)
}

/** As the API takes them. */
const asBody = ({ events, ...fields }: EndpointOptions) => ({
  ...fields,
  ...(events && { events: events === 'all' ? null : events }),
})

const schemasOf = ({ setting }: CliContext) => endpointSchemas(setting('CLIENT_PRIVATE_NETWORKS'))

/** Waits for the first call by a worker. */
async function testEndpoint(context: CliContext, endpointId: string) {
  const { db } = context
  const endpoint = canBeRecordId(endpointId) ? await findEndpoint(db, endpointId) : undefined
  if (!endpoint) throw noEndpoint(endpointId)
  if (endpoint.disabledAt)
    throw new CliError(
      'refused',
      `${endpointDisabled(endpoint.disabledReason)}; run: outbound endpoint enable ${endpointId}`,
    )
  const id = await beginTest(context, endpointId)
  const result = await resultOfTest(db, { endpointId, id, withinMs: testMs })
  if (result === 'deleted') throw noEndpoint(endpointId)
  if (result !== 'not_called') return result
  throw new CliError(
    'failed',
    `${notCalledYet}: check that workers run, and look at breakerOpenUntil and waiting in: outbound endpoint list`,
  )
}

export function noEndpoint(id: string): CliError {
  return new CliError('not_found', `No endpoint ${id}; see them with: outbound endpoint list --account ID`)
}
