import type { Command } from 'commander'
import { v7 as uuidv7 } from 'uuid'
import { addTest, resultOfTest } from '../../db/callbacks/endpoint-tests.ts'
import {
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  findEndpoint,
  listEndpoints,
  rotateSecret,
  updateEndpoint,
} from '../../db/callbacks/endpoints.ts'
import type { Database } from '../../db/client.ts'
import { mintSealedSecret } from '../core/callback.ts'
import {
  endpointDisabled,
  endpointSchemas,
  notCalledYet,
  rotationSchema,
  tooManyEndpoints,
} from '../core/endpoint-request.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { changeList, checkedOptions, existingAccount, overlapSeconds } from './arguments.ts'

/** Longer than a call may take, and than it takes until a worker finds the test. */
const testMs = 90_000

interface EndpointOptions {
  url?: string
  events?: string[] | 'all'
}

export function endpointCommands(program: Command, answer: Answerer): void {
  const endpoint = program
    .command('endpoint')
    .description('endpoints: where an account gets callbacks about its sends')
  createCommands(endpoint, answer)
  switchCommands(endpoint, answer)
  endpoint
    .command('rotate-secret')
    .description('replace the secret; until the overlap ends, the former one signs too')
    .argument('<endpoint>', "the endpoint's id")
    .option('--overlap <duration>', '0s to 7d; default: 24h', overlapSeconds)
    .action((id: string, { overlap }: { overlap?: number }, command: Command) =>
      answer(command, async ({ db, setting }) => {
        const rotation = checkedOptions(
          rotationSchema,
          { overlapSeconds: overlap },
          { overlapSeconds: 'overlap' },
        )
        const { secret, sealedSecret } = mintSealedSecret(id, setting('CREDENTIALS_KEY'))
        const bothSignUntil = canBeRecordId(id)
          ? await rotateSecret(db, { id, sealedSecret, ...rotation })
          : undefined
        if (!bothSignUntil) throw noEndpoint(id)
        return { endpointId: id, secret, bothSignUntil }
      }),
    )
  endpoint
    .command('test')
    .description('call the endpoint, and show its answer')
    .argument('<endpoint>', "the endpoint's id")
    .action((id: string, _options: object, command: Command) =>
      answer(command, async ({ db }) => await testEndpoint(db, id)),
    )
}

function createCommands(endpoint: Command, answer: Answerer): void {
  const events = [
    '--events <list>',
    'only these, e.g. message.failed,message.delivered; default: all',
  ] as const
  endpoint
    .command('create')
    .description('print the secret once')
    .requiredOption('--account <id>', 'the account that gets the callbacks')
    .requiredOption('--url <url>', 'https')
    .option(...events, changeList)
    .action(({ account, ...options }: EndpointOptions & { account: string }, command: Command) =>
      answer(command, async (context) => {
        const accountId = await existingAccount(context.db, account)
        const fields = checkedOptions(schemasOf(context).create, asBody(options))
        const id = uuidv7()
        const { secret, sealedSecret } = mintSealedSecret(id, context.setting('CREDENTIALS_KEY'))
        const creation = await createEndpoint(context.db, { id, accountId, ...fields, sealedSecret })
        if (creation === 'created') return { endpointId: id, secret }
        throw new CliError(`${tooManyEndpoints}; see: endpoint list --account ${accountId}`)
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
    .option(...events, changeList)
    .action((id: string, options: EndpointOptions, command: Command) =>
      answer(command, async (context) => {
        const fields = checkedOptions(schemasOf(context).update, asBody(options))
        if (canBeRecordId(id) && (await updateEndpoint(context.db, id, fields))) return { endpointId: id }
        throw noEndpoint(id)
      }),
    )
}

function switchCommands(endpoint: Command, answer: Answerer): void {
  const change = (name: string, description: string, work: (db: Database, id: string) => Promise<boolean>) =>
    endpoint
      .command(name)
      .description(description)
      .argument('<endpoint>', "the endpoint's id")
      .action((id: string, _options: object, command: Command) =>
        answer(command, async ({ db }) => {
          if (canBeRecordId(id) && (await work(db, id))) return { endpointId: id }
          throw noEndpoint(id)
        }),
      )
  change('enable', 'call it again, with all that was kept meanwhile', enableEndpoint)
  change('disable', 'call it no more; its callbacks are kept', (db, id) =>
    disableEndpoint(db, id, 'by an operator'),
  )
  change('delete', 'delete it for good, with its callbacks', deleteEndpoint)
}

/** As the API takes them. */
const asBody = ({ events, ...fields }: EndpointOptions) => ({
  ...fields,
  ...(events && { events: events === 'all' ? null : events }),
})

const schemasOf = ({ setting }: CliContext) => endpointSchemas(setting('ALLOWED_PRIVATE_NETWORKS'))

/** Waits for the first call by a worker. */
async function testEndpoint(db: Database, endpointId: string) {
  const endpoint = canBeRecordId(endpointId) ? await findEndpoint(db, endpointId) : undefined
  if (!endpoint) throw noEndpoint(endpointId)
  if (endpoint.disabledAt)
    throw new CliError(`${endpointDisabled(endpoint.disabledReason)}; run: endpoint enable ${endpointId}`)
  const id = uuidv7()
  await addTest(db, endpointId, id)
  const result = await resultOfTest(db, { endpointId, id, withinMs: testMs })
  if (result === 'deleted') throw noEndpoint(endpointId)
  if (result !== 'not_called') return result
  throw new CliError(
    `${notCalledYet}: check that workers run, and look at breakerOpenUntil and waiting in: endpoint list`,
  )
}

export function noEndpoint(id: string): CliError {
  return new CliError(`No endpoint ${id}; see them with: endpoint list --account ID`)
}
