import type { operations } from './generated/schema.ts'

/** The `operationId` of a route. */
export type OperationName = keyof operations

type Json<Part> = Part extends { content: { 'application/json': infer Value } } ? Value : never

/** The body that a route takes. */
export type Body<Name extends OperationName> = operations[Name] extends { requestBody?: infer Part }
  ? Json<NonNullable<Part>>
  : never

/** The parameters that a route takes after `?`. */
export type Query<Name extends OperationName> = NonNullable<operations[Name]['parameters']['query']>

/** A route with a 202 has its 200 for dry runs. */
type SuccessOf<Responses> = 202 extends keyof Responses ? 202 : Extract<keyof Responses, 200 | 201>

/** What a route answers; nothing for a 204. */
export type Answer<Name extends OperationName> = [SuccessOf<operations[Name]['responses']>] extends [never]
  ? undefined
  : Json<operations[Name]['responses'][SuccessOf<operations[Name]['responses']>]>

/** What a route answers to a dry run. */
export type DryRunOf<Name extends OperationName> = operations[Name]['responses'] extends { 200: infer Part }
  ? Json<Part>
  : never
