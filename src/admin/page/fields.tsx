import type { Child } from 'hono/jsx'

interface FieldProps {
  name: string
  label: string
  value?: string | undefined
  hint?: Child
  /** Why what was typed can't be used. */
  issue?: string | undefined
}

interface TextFieldProps extends FieldProps {
  type?: 'text' | 'datetime-local' | 'password'
  required?: boolean
}

/** The ids of the texts about a field, for screen readers. */
const described = ({ name, hint, issue }: FieldProps) => ({
  'aria-describedby':
    [issue !== undefined && `${name}-issue`, hint !== undefined && `${name}-hint`]
      .filter(Boolean)
      .join(' ') || undefined,
  'aria-invalid': issue === undefined ? undefined : ('true' as const),
})

/** A label, a control, and below it what is wrong with what was typed, and a hint. */
function Field({ name, label, hint, issue, children }: FieldProps & { children: Child }) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      {children}
      {issue !== undefined && (
        <small id={`${name}-issue`} class="fault">
          {issue}
        </small>
      )}
      {hint !== undefined && <small id={`${name}-hint`}>{hint}</small>}
    </p>
  )
}

/** A field of one line. Nothing that was typed is offered again elsewhere. */
export function TextField({ type = 'text', required, ...field }: TextFieldProps) {
  const { name, value = '' } = field
  return (
    <Field {...field}>
      <input
        id={name}
        name={name}
        type={type}
        value={type === 'password' ? '' : value}
        autocomplete={type === 'password' ? 'new-password' : 'off'}
        required={required}
        {...described(field)}
      />
    </Field>
  )
}

/** A field of several lines, such as for a key or JSON. */
export function LongField({
  rows = 6,
  required,
  ...field
}: FieldProps & { rows?: number; required?: boolean }) {
  const { name, value = '' } = field
  return (
    <Field {...field}>
      <textarea
        id={name}
        name={name}
        rows={rows}
        autocomplete="off"
        spellcheck={false}
        required={required}
        {...described(field)}
      >
        {value}
      </textarea>
    </Field>
  )
}

interface ChoiceProps extends FieldProps {
  /** Each a value, with other words where it needs them. */
  options: readonly (string | readonly [value: string, words: string])[]
  /** The words of no choice; null where one has to be chosen. */
  none?: string | null
}

export function Choice({ options, none = 'any', ...field }: ChoiceProps) {
  const { name, value } = field
  return (
    <Field {...field}>
      <select id={name} name={name} {...described(field)}>
        {none !== null && <option value="">{none}</option>}
        {options
          .map((option) => (typeof option === 'string' ? ([option, option] as const) : option))
          .map(([option, words]) => (
            <option value={option} selected={option === value}>
              {words}
            </option>
          ))}
      </select>
    </Field>
  )
}

interface ChecksProps extends Omit<FieldProps, 'value'> {
  options: readonly (readonly [value: string, words: Child])[]
  /** The chosen ones, with commas between them. */
  value?: string | undefined
}

/** Boxes of one field, of which several can be ticked. */
export function Checks({ name, label, value = '', hint, issue, options }: ChecksProps) {
  const ticked = value.split(',')
  return (
    <fieldset class="field" {...described({ name, label, hint, issue })}>
      <legend>{label}</legend>
      {options.map(([option, words]) => (
        <p class="choice">
          <input
            id={`${name}-${option}`}
            name={name}
            type="checkbox"
            value={option}
            checked={ticked.includes(option)}
          />
          <label for={`${name}-${option}`}>{words}</label>
        </p>
      ))}
      {issue !== undefined && (
        <small id={`${name}-issue`} class="fault">
          {issue}
        </small>
      )}
      {hint !== undefined && <small id={`${name}-hint`}>{hint}</small>}
    </fieldset>
  )
}
