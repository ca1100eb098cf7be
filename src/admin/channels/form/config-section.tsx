import type { ConfigField } from '../../../core/channels/config-fields.ts'
import { hidden, type ShownConfig } from '../../../core/channels/shown-config.ts'
import { capitalised } from '../../../core/explanation/phrases.ts'
import { Checks, Choice, LongField, TextField } from '../../page/fields.tsx'
import type { FieldIssues, Typed } from '../../page/typed-form.ts'

/** The name of a form's field with a field of the config. */
export const inForm = (name: string) => `config.${name}`

/** The name of the boxes by which kept values are removed. */
export const removeName = 'remove'

interface ConfigSectionProps {
  provider: string
  fields: readonly ConfigField[]
  /** What the channel has, without secrets; undefined for a new one. */
  present: ShownConfig | undefined
  typed: Typed
  issues: FieldIssues
}

/** The fields of a provider's config. What may be secret is not shown again: an empty field keeps it. */
export function ConfigSection({ provider, fields, present, typed, issues }: ConfigSectionProps) {
  const removable = fields.filter(
    ({ name, isRequired }) => !isRequired && present?.[name] !== undefined && isKept(present, name),
  )
  return (
    <section aria-labelledby="config">
      <h2 id="config">Config of {provider}</h2>
      {fields.length === 0 ? (
        <p class="muted">This provider needs none.</p>
      ) : (
        <div class="fields">
          {fields.map((field) => (
            <OneField field={field} present={present} typed={typed} issue={issues[inForm(field.name)]} />
          ))}
        </div>
      )}
      {removable.length > 0 && (
        <Checks
          name={removeName}
          label="Remove what is kept"
          value={typed[removeName]}
          options={removable.map(({ name }) => [name, name])}
        />
      )}
      {issues.config !== undefined && (
        <p class="fault" role="alert">
          {issues.config}
        </p>
      )}
    </section>
  )
}

/** Whether an empty field keeps what the channel has: a secret, or an address of which only the origin is shown. */
export const isKept = (present: ShownConfig | undefined, name: string): boolean =>
  present?.[name] === hidden || isAddress(name)

const isAddress = (name: string) => name === 'url' || name === 'baseUrl'

interface OneFieldProps extends Pick<ConfigSectionProps, 'present' | 'typed'> {
  field: ConfigField
  issue: string | undefined
}

function OneField({ field, present, typed, issue }: OneFieldProps) {
  const { name, kind, choices, isRequired, isShown } = field
  const has = present?.[name]
  const keeps = has !== undefined && isKept(present, name)
  const common = {
    name: inForm(name),
    label: isRequired ? name : `${name} (optional)`,
    value: typed[inForm(name)] ?? (has === undefined || keeps ? undefined : String(has)),
    hint: [
      field.words && capitalised(field.words),
      keeps && `Empty: ${has === hidden ? 'what is set' : has} stays`,
    ]
      .filter(Boolean)
      .join('. '),
    issue,
  }
  if (choices) return <Choice {...common} options={choices} none={isRequired ? null : 'none'} />
  if (kind === 'yesNo') return <Choice {...common} options={yesOrNo} none="default" />
  if (kind === 'lines' || kind === 'json') return <LongField {...common} rows={4} />
  const isSecret = !isShown && !isAddress(name) && kind === 'text'
  return <TextField {...common} type={isSecret ? 'password' : 'text'} required={isRequired && !keeps} />
}

const yesOrNo = [
  ['true', 'yes'],
  ['false', 'no'],
] as const
