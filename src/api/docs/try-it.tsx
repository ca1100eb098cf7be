import type { Parameter } from './operations.ts'

interface TryItProps {
  id: string
  method: string
  path: string
  parameters: readonly Parameter[]
  body: unknown
}

/** A form that calls the operation. It is hidden until docs.js shows it: without script, copy a sample. */
export function TryIt({ id, method, path, parameters, body }: TryItProps) {
  const field = (name: string) => `${id}-${name}`
  return (
    <details class="try" hidden>
      <summary>Try it</summary>
      <form data-method={method} data-path={path}>
        <label for={field('key')}>API key</label>
        <input id={field('key')} data-in="key" type="password" autocomplete="off" />
        {parameters.map(({ name, in: place, example }) => (
          <>
            <label for={field(name)}>{name}</label>
            <input
              id={field(name)}
              data-in={place}
              data-name={name}
              value={place === 'path' ? example : ''}
            />
          </>
        ))}
        {body !== undefined && (
          <>
            <label for={field('body')}>Body</label>
            <textarea id={field('body')} data-in="body" rows={10}>
              {JSON.stringify(body, null, 2)}
            </textarea>
          </>
        )}
        <button type="submit">Send</button>
        <output />
      </form>
    </details>
  )
}
