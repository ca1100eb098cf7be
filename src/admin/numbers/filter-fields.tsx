interface FieldProps {
  name: string
  label: string
  value: string | undefined
}

export function TextField({ name, label, value = '', hint }: FieldProps & { hint: string }) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type="text"
        value={value}
        autocomplete="off"
        aria-describedby={`${name}-hint`}
      />
      <small id={`${name}-hint`}>{hint}</small>
    </p>
  )
}

export function Choice({ name, label, value, choices }: FieldProps & { choices: readonly string[] }) {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <select id={name} name={name}>
        <option value="">any</option>
        {choices.map((choice) => (
          <option value={choice} selected={choice === value}>
            {choice}
          </option>
        ))}
      </select>
    </p>
  )
}
