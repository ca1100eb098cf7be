import { nameKey } from '../../core/accounts/person.ts'

/** The library's scale ends at 4. Below, a password takes fewer guesses than an attacker of a stolen hash makes in a day. */
const leastScore = 3
const fewestOfName = 3

/** Why a new password would be guessed; undefined if it would not. The lists are loaded when the first one is asked for. */
export async function guessableIssue(password: string, name: string): Promise<string | undefined> {
  const key = nameKey(name)
  if (key.length >= fewestOfName && nameKey(password).includes(key))
    return 'The password holds the name: use words that have nothing to do with it'
  const { score } = (await estimator()).check(password, [name])
  return score < leastScore
    ? 'The password is among those that are tried first: use five words that nobody would put together'
    : undefined
}

let loaded: ReturnType<typeof load> | undefined

const estimator = () => {
  loaded ??= load()
  return loaded
}

/** With common passwords and the rows of keyboards; words of a language alone may be a good password. */
async function load() {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ])
  return new ZxcvbnFactory({
    dictionary: { passwords: dictionary['passwords-common'] },
    graphs: adjacencyGraphs,
  })
}
