import { withCommonName } from './media-content.ts'

/** Names of one format, and of formats that share a container: none of these contradicts another. */
const formats: Record<string, RegExp> = {
  jpeg: /^image\/(jpeg|jfif)$/,
  png: /^image\/(png|apng|vnd\.mozilla\.apng)$/,
  gif: /^image\/gif$/,
  webp: /^image\/webp$/,
  heif: /^image\/(hei[cf](-sequence)?|avif)$/,
  pdf: /^application\/pdf$/,
  // Sound in mp4 is often called by its codec.
  mp4: /^((audio|video|application)\/(mp4|(x-)?m4[abvp]|quicktime|3gpp2?)|audio\/aac|audio\/aacp|audio\/mp4a-latm)$/,
  ogg: /^((audio|video|application)\/ogg|audio\/(opus|vorbis|speex))$/,
  matroska: /^(audio|video)\/(webm|x-matroska|matroska)$/,
  asf: /^((audio|video|application)\/(x-ms-asf|vnd\.ms-asf|x-ms-wm[av]))$/,
  wav: /^audio\/(wav|vnd\.wave)$/,
  avi: /^video\/(vnd\.avi|avi|msvideo|x-msvideo)$/,
  flac: /^audio\/(x-)?flac$/,
}

/** Types that are none of `formats`, but can't always be told by their first bytes. */
const otherKnown =
  /^(text\/|image\/(bmp|tiff|svg\+xml|x-icon)$|audio\/(mpeg|amr|aiff|x-aiff|midi)$|video\/mpeg$|application\/(zip|json|xml|rtf|msword|vnd\.(ms-(excel|powerpoint|word)|openxmlformats-officedocument|oasis\.opendocument)))/

/**
 * Says how a declared mimetype contradicts what the content is recognised as; undefined where it doesn't, or may not:
 * one of the two has to be a format that is told by bytes which no other begins with, and the other one known not to
 * be that. So a text that begins with the letters of a bitmap passes, and so does a Word file recognised as a zip.
 */
export function mimetypeFault(declared: string, contentType: string | undefined): string | undefined {
  if (!contentType) return undefined
  const declaredName = bareName(declared)
  const contentName = bareName(contentType)
  const declaredFormat = formatOf(declaredName)
  const contentFormat = formatOf(contentName)
  const isContradiction = declaredFormat
    ? declaredFormat !== contentFormat
    : contentFormat !== undefined && otherKnown.test(declaredName)
  return isContradiction
    ? `says ${declared}, but the content is recognised as ${contentName}: leave it out, or send what it says`
    : undefined
}

function bareName(type: string): string {
  const [name = ''] = withCommonName(type).toLowerCase().split(';')
  return name.trim()
}

function formatOf(name: string): string | undefined {
  return Object.entries(formats).find(([, names]) => names.test(name))?.[0]
}
