import { pythonFiles } from './python.ts'
import { typescriptFiles } from './typescript.ts'

/** Everything in sdk that is made of the OpenAPI document and the table of errors, by its path. */
export async function generatedFiles(): Promise<Record<string, string>> {
  return {
    ...within('sdk/typescript/src/generated', await typescriptFiles()),
    ...within('sdk/python/outbound_messaging', pythonFiles()),
  }
}

const within = (folder: string, files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]))
