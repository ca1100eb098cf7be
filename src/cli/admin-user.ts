import { type Command, InvalidArgumentError, Option } from 'commander'
import { audited } from '../../db/audit/record.ts'
import { addPerson, listPeople, removePerson, setPassword } from '../../db/people/people.ts'
import { hashPassword, passwordIssue } from '../core/accounts/password.ts'
import { isPersonName, personNameWanted, type Role, roles } from '../core/accounts/person.ts'
import { type Answerer, CliError } from './answer.ts'

export function adminUserCommands(program: Command, answer: Answerer): void {
  const adminUser = program.command('admin-user')

  adminUser
    .command('add')
    .requiredOption('--name <name>', 'the name to sign in with', personName)
    .addOption(new Option('--role <role>', 'what they may do').choices([...roles]).makeOptionMandatory())
    .action((person: { name: string; role: Role }, command: Command) =>
      answer(command, async ({ db, readSecret, actor }) => {
        const hash = await hashPassword(await newPassword(readSecret))
        const { name: target, role } = person
        const isAdded = await audited(
          db,
          (transaction) => addPerson(transaction, person, hash),
          (isAdded) => isAdded && { ...actor, action: 'person.add', target, details: { role } },
        )
        if (isAdded) return person
        throw new CliError(
          'refused',
          `There is a person named ${person.name} already; choose another name, or: outbound admin-user set-password --name NAME`,
        )
      }),
    )

  adminUser
    .command('list')
    .action((_options: object, command: Command) =>
      answer(command, async ({ db }) => ({ people: await listPeople(db) })),
    )

  byName(adminUser, 'remove', (name, command) =>
    answer(command, async ({ db, actor }) => {
      const removed = await audited(
        db,
        (transaction) => removePerson(transaction, name),
        (target) => target !== undefined && { ...actor, action: 'person.remove', target },
      )
      return { name: removed ?? unknown(name) }
    }),
  )

  byName(adminUser, 'set-password', (name, command) =>
    answer(command, async ({ db, readSecret, actor }) => {
      const hash = await hashPassword(await newPassword(readSecret))
      const changed = await audited(
        db,
        (transaction) => setPassword(transaction, name, hash),
        (target) => target !== undefined && { ...actor, action: 'person.set_password', target },
      )
      return { name: changed ?? unknown(name) }
    }),
  )
}

/** A verb about one person, who is named with or without `--name`. */
function byName(parent: Command, verb: string, act: (name: string, command: Command) => Promise<void>): void {
  parent
    .command(verb)
    .argument('[name]', 'the name', personName)
    .option('--name <name>', 'the same', personName)
    .action((given: string | undefined, options: { name?: string }, command: Command) => {
      const name = given ?? options.name
      if (name === undefined)
        throw new CliError('usage', `Give a name, as in: outbound admin-user ${verb} --name ann`)
      return act(name, command)
    })
}

async function newPassword(readSecret: (name: string) => Promise<string>): Promise<string> {
  const password = await readSecret('Password')
  const issue = passwordIssue(password)
  if (issue !== undefined) throw new CliError('usage', issue)
  return password
}

function personName(text: string): string {
  if (isPersonName(text)) return text
  throw new InvalidArgumentError(`Use ${personNameWanted}.`)
}

function unknown(name: string): never {
  throw new CliError('not_found', `No person is named ${name}; see them with: outbound admin-user list`)
}
