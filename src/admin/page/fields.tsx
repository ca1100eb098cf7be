interface FieldProps {
  name: string
  label: string
  value?: string | undefined
}

interface TextFieldProps extends FieldProps {
  hint: string
  type?: 'text' | 'datetime-local'
  required?: boolean
}

/** A field of one line, with a hint below it. Nothing that was typed is offered again elsewhere. */
export function TextField({ name, label, value = '', hint, type = 'text', required }: TextFieldProps) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={type}
        value={value}
        autocomplete="off"
        required={required}
        aria-describedby={`${name}-hint`}
      />
      <small id={`${name}-hint`}>{hint}</small>
    </p>
  )
}

interface ChoiceProps extends FieldProps {
  /** Each a value, with other words where it needs them. */
  options: readonly (string | readonly [value: string, words: string])[]
}

export function Choice({ name, label, value, options }: ChoiceProps) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <select id={name} name={name}>
        <option value="">any</option>
        {options
          .map((option) => (typeof option === 'string' ? ([option, option] as const) : option))
          .map(([option, words]) => (
            <option value={option} selected={option === value}>
              {words}
            </option>
          ))}
      </select>
    </p>
  )
}
