import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { v7 as uuidv7 } from 'uuid'
import {
  addTest,
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  findCallback,
  findEndpoint,
  listEndpoints,
  rotateSecret,
  updateEndpoint,
} from '../../db/callbacks/endpoints.ts'
import type { Database } from '../../db/client.ts'
import { maxEndpointsOfAccount, mintWebhookSecret, type SendChange, webhookIdOf } from '../core/callback.ts'
import { endpointUrlIssue } from '../core/endpoint-url.ts'
import { canBeRecordId } from '../core/record-id.ts'
import { sealConfig } from '../core/sealed-config.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { changeList, existingAccount, overlapSeconds } from './arguments.ts'

/** Longer than a call may take, and than it takes until a worker finds the test. */
const testMs = 90_000
const lookAgainMs = 200

interface EndpointOptions {
  url?: string
  events?: SendChange[] | 'all'
}

export function endpointCommands(program: Command, answer: Answerer): void {
  const endpoint = program.command('endpoint')
  createCommands(endpoint, answer)
  switchCommands(endpoint, answer)
  endpoint
    .command('rotate-secret')
    .description('replace the secret; until the overlap ends, the former one signs too')
    .argument('<endpoint>', "the endpoint's id")
    .option('--overlap <duration>', '0s to 7d; default: 24h', overlapSeconds, overlapSeconds('24h'))
    .action((id: string, { overlap }: { overlap: number }, command: Command) =>
      answer(command, async (context) => {
        const { secret, sealedSecret } = mintSecret(context, id)
        const found = canBeRecordId(id)
        const bothSignUntil = found
          ? await rotateSecret(context.db, { id, sealedSecret, overlapSeconds: overlap })
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
    .action((options: EndpointOptions & { account: string; url: string }, command: Command) =>
      answer(command, async (context) => {
        const accountId = await existingAccount(context.db, options.account)
        const url = checked(context, options.url)
        const id = uuidv7()
        const { secret, sealedSecret } = mintSecret(context, id)
        const fields = { id, accountId, url, events: eventsOf(options.events), sealedSecret }
        if (await createEndpoint(context.db, fields)) return { endpointId: id, secret }
        throw new CliError(
          `The account has ${maxEndpointsOfAccount} endpoints, which is the most; see: outbound endpoint list --account ${accountId}`,
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
    .option(...events, changeList)
    .action((id: string, options: EndpointOptions, command: Command) =>
      answer(command, async (context) => {
        if (Object.keys(options).length === 0) throw new CliError('Give --url or --events, or both')
        const fields = {
          ...(options.url !== undefined && { url: checked(context, options.url) }),
          ...(options.events && { events: eventsOf(options.events) }),
        }
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

const eventsOf = (given: EndpointOptions['events']) => (given === undefined || given === 'all' ? null : given)

function checked({ setting }: CliContext, url: string): string {
  const issue = endpointUrlIssue(url, setting('ALLOWED_PRIVATE_NETWORKS'))
  if (issue) throw new CliError(`Fix --url: ${issue}`)
  return url
}

function mintSecret({ setting }: CliContext, endpointId: string) {
  const secret = mintWebhookSecret()
  return { secret, sealedSecret: sealConfig({ secret }, endpointId, setting('CREDENTIALS_KEY')) }
}

/** Waits for the first call by a worker. */
async function testEndpoint(db: Database, endpointId: string) {
  const endpoint = canBeRecordId(endpointId) ? await findEndpoint(db, endpointId) : undefined
  if (!endpoint) throw noEndpoint(endpointId)
  if (endpoint.disabledAt)
    throw new CliError(
      `The endpoint is disabled (${endpoint.disabledReason}); run: outbound endpoint enable ${endpointId}`,
    )
  const requestId = uuidv7()
  await addTest(db, endpointId, requestId)
  for (const endsAt = Date.now() + testMs; Date.now() < endsAt; await sleep(lookAgainMs)) {
    const callback = await findCallback(db, { endpointId, requestId })
    if (!callback) throw noEndpoint(endpointId)
    const [first] = callback.tries
    if (first) return { webhookId: webhookIdOf({ requestId, sequence: 0 }), ...first }
  }
  throw new CliError(
    'No worker has called the endpoint yet: check that workers run, and look at breakerOpenUntil and waiting in: outbound endpoint list',
  )
}

export function noEndpoint(id: string): CliError {
  return new CliError(`No endpoint ${id}; see them with: outbound endpoint list --account ID`)
}
