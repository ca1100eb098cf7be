import { InvalidArgumentError } from 'commander'
import * as typed from '../core/typed/display-name.ts'
import { TypedFault } from '../core/typed/typed-fault.ts'

/** Parses an argument as the pages parse what is typed into their fields. Commander names the option of an InvalidArgumentError. */
export const argument =
  <Value>(parse: (text: string) => Value) =>
  (text: string): Value => {
    try {
      return parse(text)
    } catch (error) {
      throw error instanceof TypedFault ? new InvalidArgumentError(error.message) : error
    }
  }

export const displayName = argument(typed.displayName)
