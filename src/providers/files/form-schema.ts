import { z } from 'zod'
import { providerForm } from './form.ts'

/** The JSON Schema of a file's form. */
export const formSchema = () => z.toJSONSchema(providerForm, { io: 'input', unrepresentable: 'any' })
