import { register } from 'node:module'

/**
 * Gives openapi-typescript 7 the compiler that it is made for: TypeScript 7, which this project uses, has no JavaScript API.
 * The one within ts-morph adds no second `tsc` to node_modules/.bin.
 */
const hook = `export const resolve = (name, context, next) =>
  next(name === 'typescript' ? '@ts-morph/common/dist/typescript.js' : name, context)`
register(`data:text/javascript,${encodeURIComponent(hook)}`)
