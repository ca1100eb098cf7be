import type { CompiledFile } from '../../../src/providers/files/compile.ts'
import type { ConfigField } from '../../../src/providers/files/form.ts'
import { fieldsOfProof } from '../../../src/providers/files/reading/proofs.ts'
import {
  codesTable,
  limitsTable,
  otherCodesTable,
  receiptsTable,
  statusesTable,
  suppressingTable,
} from './provider-tables.ts'

/** The page of a provider that a file of the release describes: all of it is in the file. */
export function vendorPage({ form, provider }: CompiledFile): string {
  const { name, what, label, documents, setUp, setUpReceipts = [], notes = [], guessed = [], receipts } = form
  const config = Object.fromEntries(
    Object.entries(form.examples.config).filter(([field]) => !isOptional(form.config[field])),
  )
  return paragraphs(
    `# ${label}`,
    `The \`${name}\` provider sends ${what}. [A file of the release](../provider-files.md) describes it: \`outbound provider show ${name}\`.`,
    `It was written by the vendor's documents${guessed.length > 0 ? ', in parts from memory: see [what was guessed](#sources),' : ''} and not tried against a real account.`,
    '## Set up',
    numbered([...setUp, '[Create the channel](#create-the-channel).']),
    '## Create the channel',
    `\`\`\`sh\noutbound channel create --account $ACCOUNT --provider ${name} --name ${name} --json --config - <<'EOF'\n${JSON.stringify(config)}\nEOF\n\`\`\``,
    configTable(form),
    ...(notes.length > 0 ? [bullets(notes)] : []),
    '## What it accepts',
    limitsTable(provider).replaceAll('| |  |', '| | |'),
    '## Outcomes',
    ...(provider.codes ? [codesTable(provider), 'Any other code, or none, goes by the status:'] : []),
    statusesTable(provider),
    ...(receipts ? receiptsPart({ form, provider, setUpReceipts }) : []),
    ...costPart(form),
    ...(provider.suppressingCodes
      ? [
          'After these codes a contact is [suppressed](../../how-to/suppress-contacts.md#what-adds-contacts-by-itself):',
          suppressingTable(provider),
        ]
      : []),
    '## Sources',
    bullets([
      ...documents.map(({ url, read, what: part }) => `<${url}>${part ? `, ${part}` : ''}, read on ${read}`),
      ...guessed.map((text) => `Guessed: ${text}`),
    ]),
  )
}

function receiptsPart({
  form,
  provider,
  setUpReceipts,
}: Pick<CompiledFile, 'form' | 'provider'> & { setUpReceipts: string[] }) {
  const { receipts } = form
  const fields = receipts ? fieldsOfProof(receipts.proof).map((field) => `\`${field}\``) : []
  return [
    '## Receipts',
    `${fields.join(' and ')} ${fields.length === 1 ? 'lets' : 'let'} the vendor report the result of each message:`,
    numbered(setUpReceipts),
    receiptsTable(provider),
    ...(provider.otherCodes ? ['Codes of receipts:', otherCodesTable(provider)] : []),
  ]
}

function costPart({ answer, receipts }: CompiledFile['form']): string[] {
  const sayers = (of: 'cost' | 'parts') => [
    ...(answer[of] ? ['answers'] : []),
    ...(receipts?.[of] ? ['receipts'] : []),
  ]
  const parts = [
    ...(sayers('cost').length > 0 ? [`Its price comes by ${sayers('cost').join(' and ')}.`] : []),
    ...(sayers('parts').length > 0 ? [`Its parts come by ${sayers('parts').join(' and ')}.`] : []),
  ]
  return parts.length === 0
    ? []
    : ['## Cost', `[What a message costs](../timeline.md#cost): ${parts.join(' ')}`]
}

const isOptional = (field: ConfigField | undefined) => !field || field.optional || field.default !== undefined

function configTable({ config, baseUrl, regions = {} }: CompiledFile['form']): string {
  const rows = Object.entries(config).map(([name, field]) => {
    const usual =
      field.default === undefined ? (field.optional ? 'none' : 'required') : `\`${field.default}\``
    return `| \`${name}\` | ${usual} | ${field.words}${field.secret ? '; a secret' : ''} |`
  })
  const others = Object.entries(regions).map(([name, url]) => `${name}: \`${url}\``)
  const more = others.length > 0 ? `; ${others.join(', ')}` : ''
  const own = `| \`baseUrl\` | ${baseUrl ? `\`${baseUrl}\`` : 'required'} | the address of the API${more} |`
  return ['| Field | Default | What |', '|---|---|---|', ...rows, own].join('\n')
}

const paragraphs = (...parts: string[]) => `${parts.join('\n\n')}\n`
const numbered = (steps: readonly string[]) => steps.map((step, index) => `${index + 1}. ${step}`).join('\n')
const bullets = (items: readonly string[]) => items.map((item) => `- ${item}`).join('\n')
