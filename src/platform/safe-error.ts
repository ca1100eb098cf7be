import { DrizzleQueryError } from 'drizzle-orm'

/**
 * What a log line may tell of an error. Messages of databases and parsers quote the values they stumbled over, and a
 * query's error lists its parameters: contacts, content and key hashes. So quoted parts are left out, and no field
 * is taken that isn't named here.
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

/** From the first quotation mark to the last: what is quoted may itself hold some. */
function withoutQuotes(message: string): string {
  return message.replace(/"[\s\S]*"/, '…')
}
