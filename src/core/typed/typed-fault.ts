/** Why a text that an operator typed, as an option or in a field of a page, can't be used. It says what to type instead. */
export class TypedFault extends Error {}
