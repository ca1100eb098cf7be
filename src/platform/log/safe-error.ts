import { DrizzleQueryError } from 'drizzle-orm'

/**
 * The parts of an error that may be logged. Databases and parsers quote the values that they failed on, and a query's error
 * lists its parameters: contacts, content and key hashes. So quoted parts are removed, and only the fields named here are
 * taken.
 */
export function safeError(error: unknown): { type: string; message: string; code?: string; stack?: string } {
  const cause = error instanceof DrizzleQueryError ? (error.cause ?? error) : error
  if (!(cause instanceof Error)) return { type: typeof cause, message: 'not an error' }
  const { code } = cause as NodeJS.ErrnoException
  const stack = cause.stack?.split('\n').filter((line) => line.startsWith('    at '))
  return {
    type: cause.name,
    message: cause instanceof DrizzleQueryError ? 'a query failed' : withoutQuotes(cause.message),
    ...(code !== undefined && { code: String(code) }),
    ...(stack && { stack: stack.join('\n') }),
  }
}

/** From the first quotation mark to the last, since a quoted value may itself contain some. */
function withoutQuotes(message: string): string {
  return message.replace(/"[\s\S]*"/, '…')
}
