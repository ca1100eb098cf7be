/** Gives each secret the name of an environment variable: `ACME_SMS_AUTH_TOKEN` of account, channel and field, each name once. */
export function environmentNames(): (...parts: string[]) => string {
  const given = new Set<string>()
  return (...parts) => {
    const name = parts.map(words).join('_')
    let free = name
    for (let number = 2; given.has(free); number++) free = `${name}_${number}`
    given.add(free)
    return free
  }
}

/** In capitals, with the words of `authToken` apart. A variable begins with no digit. */
function words(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toUpperCase()
    .replaceAll(/[^A-Z\d]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return plain === '' || /^\d/.test(plain) ? `X${plain}` : plain
}
