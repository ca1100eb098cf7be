export const maxMimetypeLength = 255

/** `type/subtype` and parameters, without characters that could end a header line. */
export const mimetypePattern =
  /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}( *; *[\w!#$&^.+-]+=("[ !#-[\]-~]*"|[\w!#$&^.+-]+))*$/u

/**
 * The type that a header or a `data:` URL names: with its parameters, such as `charset` or a calendar's `method`, as far as they are
 * well-formed; undefined if the type itself isn't.
 */
export function mimetypeIn(text: string): string | undefined {
  const [bare = ''] = text.split(';', 1)
  const whole = text.trim().replace(/[\s;]+$/, '')
  return [whole, bare.trim()].find((type) => type.length <= maxMimetypeLength && mimetypePattern.test(type))
}

/**
 * Types by which servers and clients say that they don't know the type. Amazon S3, for example, has `binary/octet-stream`, Java
 * `content/unknown`, and what `curl` uploads has the type of a form, and Windows has `application/x-msdownload` for whatever is downloaded.
 */
const unknownTypes =
  /^((application|attachment|audio|binary|content|data|file|image|media|octet|unknown|video)\/(x-)?(octet(-?stream)?|stream|binary|bin|(force-?)?download|msdownload|save(-?as)?|data|empty|file|unknown(-content-type)?)|application\/x-www-form-urlencoded|multipart\/form-data|type\/subtype|\*\/\*)\s*(;|$)/i

/** Whether a type says what the content is, unlike `application/octet-stream`. */
export const saysWhatItIs = (type: string): boolean => !unknownTypes.test(type)
