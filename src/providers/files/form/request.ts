import { z } from 'zod'
import { fieldForm, headerNameForm, textForm } from './parts.ts'

const pathForm = z
  .string()
  .max(500)
  .regex(
    /^(\/([A-Za-z0-9._~!$&'()*+,;=:@%-]|\{config\.[A-Za-z0-9]+\})*)+$/,
    'has to begin with /; its only holes are {config.FIELD}',
  )

/** Any tree of JSON; what its holes mean is checked when the file is compiled. */
const treeForm = z.json()
const flatForm = z.record(z.string().min(1).max(100), treeForm)

const oauth2Form = z.strictObject({
  tokenUrl: textForm.describe(
    "The address of the vendor's token endpoint. `tokenUrl` of a channel's config replaces it.",
  ),
  clientId: fieldForm,
  clientSecret: fieldForm,
  scope: textForm.optional(),
  audience: textForm.optional(),
  credentials: z
    .enum(['basic', 'body'])
    .default('basic')
    .describe('Whether id and secret go in the header `Authorization`, or in the body.'),
})
export type Oauth2Form = z.output<typeof oauth2Form>

const authForm = z.xor(
  [
    z.strictObject({ bearer: fieldForm }),
    z.strictObject({
      basic: z.strictObject({
        user: z.union([fieldForm, z.strictObject({ text: textForm })]),
        password: fieldForm.optional(),
      }),
    }),
    z.strictObject({
      header: z.strictObject({ name: headerNameForm, prefix: textForm.optional(), value: fieldForm }),
    }),
    z.strictObject({ query: z.strictObject({ name: z.string().min(1).max(100), value: fieldForm }) }),
    z.strictObject({ oauth2: oauth2Form }).describe('Client credentials of OAuth 2.'),
    z.strictObject({ none: z.literal(true) }),
  ],
  {
    error:
      'has to be one of bearer, basic, header, query, oauth2 and none, with names of fields of the config',
  },
)

const signatureForm = z.strictObject({
  header: headerNameForm,
  prefix: textForm.optional(),
  key: fieldForm,
  hash: z.enum(['sha1', 'sha256', 'sha512']),
  encoding: z.enum(['hex', 'base64']),
  timestampHeader: headerNameForm
    .optional()
    .describe('A header with the time in seconds, which `timestamp` signs.'),
  over: z
    .array(z.union([z.enum(['method', 'path', 'timestamp', 'body']), z.strictObject({ text: textForm })]))
    .min(1),
})

export const requestForm = z
  .strictObject({
    method: z.enum(['POST', 'PUT', 'GET']).default('POST'),
    path: pathForm.describe('Behind `baseUrl`. Each hole is encoded as one segment.'),
    auth: authForm,
    headers: z.record(headerNameForm, treeForm).optional(),
    query: flatForm.optional(),
    json: treeForm.optional().describe('The body as a tree of JSON with holes.'),
    form: flatForm.optional().describe('The body as a form. A list is a repeated field.'),
    multipart: flatForm.optional().describe('The body as multipart/form-data.'),
    signature: signatureForm.optional(),
  })
  .refine(
    ({ json, form, multipart }) => [json, form, multipart].filter((body) => body !== undefined).length <= 1,
    {
      error: 'give one of json, form and multipart',
    },
  )
  .refine(({ method, json, form, multipart }) => method !== 'GET' || !(json ?? form ?? multipart), {
    error: 'a GET has no body: use query',
  })
  .describe('The request that sends a message.')

export type RequestForm = z.output<typeof requestForm>
