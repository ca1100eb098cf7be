import { type Command, Option } from 'commander'
import { listPeople } from '../../db/people/people.ts'
import { type Person, type Role, roles } from '../core/accounts/person.ts'
import { changePassword, changeRole, endPerson, endSessions, makePerson } from '../setup/people/people.ts'
import { type Answerer, CliError } from './answer.ts'
import { personName } from './arguments.ts'

export function adminUserCommands(program: Command, answer: Answerer): void {
  const adminUser = program.command('admin-user')

  adminUser
    .command('add')
    .requiredOption('--name <name>', 'the name to sign in with', personName)
    .addOption(roleOption())
    .action((person: Person, command: Command) =>
      answer(command, async (context) => {
        const isAdded = await makePerson(context, person, await context.readSecret('Password'))
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
    answer(command, async (context) => ({ name: (await endPerson(context, name)) ?? unknown(name) })),
  )

  byName(adminUser, 'set-password', (name, command) =>
    answer(command, async (context) => ({
      name: (await changePassword(context, name, await context.readSecret('Password'))) ?? unknown(name),
    })),
  )

  byName(adminUser, 'set-role', (name, command) =>
    answer(command, async (context) => {
      const { role } = command.opts<{ role: Role }>()
      return { name: (await changeRole(context, name, role)) ?? unknown(name), role }
    }),
  ).addOption(roleOption())

  byName(adminUser, 'end-sessions', (name, command) =>
    answer(command, async (context) => ({ name: (await endSessions(context, name)) ?? unknown(name) })),
  ).description('sign a person out in all browsers')
}

const roleOption = () =>
  new Option('--role <role>', 'what they may do').choices([...roles]).makeOptionMandatory()

/** A verb about one person, who is named with or without `--name`. */
function byName(
  parent: Command,
  verb: string,
  act: (name: string, command: Command) => Promise<void>,
): Command {
  return parent
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

function unknown(name: string): never {
  throw new CliError('not_found', `No person is named ${name}; see them with: outbound admin-user list`)
}
