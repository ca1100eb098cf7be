const maxLength = 64
/** Control and format characters, direction marks among them, and line separators. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * The name of a field as a message repeats it: cut, and each character that a terminal or a log would obey written out, such as
 * `\u001b` or `\u{e0001}`. Half a surrogate pair, which many JSON parsers refuse in an answer, becomes U+FFFD.
 */
export const quotedName = (name: string): string =>
  name
    .slice(0, maxLength)
    .toWellFormed()
    .replace(unprintable, (sign) => {
      const code = (sign.codePointAt(0) ?? 0).toString(16)
      return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`
    })
