import { createHash } from 'node:crypto'
import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import { maskContact } from '../../core/contacts/contact.ts'
import { oneClick } from '../../core/messages/mail-headers.ts'

/** Within the page: a proxy may pass on nothing but this address. */
const styles = `
body { margin: 0; font: 18px/1.5 system-ui, sans-serif; color-scheme: light dark; }
main { max-width: 32rem; margin: 15vh auto 0; padding: 0 1.5rem; }
button { font: inherit; padding: 0.6rem 1.4rem; cursor: pointer; }
`
const stylesHash = createHash('sha256').update(styles).digest('base64')

/** It runs nothing, loads nothing, and posts only to its own address. */
export const headersOfPage = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${stylesHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'Cache-Control': 'no-store',
  // The address names the contact.
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
  'X-Content-Type-Options': 'nosniff',
}

function Page({ title, children }: { title: string; children?: Child }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        <style>{raw(styles)}</style>
      </head>
      <body>
        <main>
          <h1>{title}</h1>
          {children}
        </main>
      </body>
    </html>
  )
}

const [name = '', value = ''] = oneClick.split('=')

/** Asks: a program that looks at each link of a mail unsubscribes nobody. */
export function AskPage({ address }: { address: string }) {
  return (
    <Page title="Unsubscribe">
      <p>{maskContact({ type: 'email', value: address })} gets these mails.</p>
      <form method="post">
        <input type="hidden" name={name} value={value} />
        <button type="submit">Unsubscribe</button>
      </form>
    </Page>
  )
}

export function DonePage({ address }: { address: string }) {
  return (
    <Page title="You are unsubscribed">
      <p>{maskContact({ type: 'email', value: address })} gets no more of these mails.</p>
    </Page>
  )
}
