import { bareName } from './media-content.ts'

/** Type names that don't contradict each other: of one format, or of formats that share a container. */
const formats: Record<string, RegExp> = {
  jpeg: /^image\/(jpeg|jfif)$/,
  png: /^image\/(png|apng|vnd\.mozilla\.apng)$/,
  gif: /^image\/gif$/,
  webp: /^image\/webp$/,
  heif: /^image\/(hei[cf](-sequence)?|avif)$/,
  pdf: /^application\/pdf$/,
  // Audio in mp4 is often named after its codec.
  mp4: /^((audio|video|application)\/(mp4|(x-)?m4[abvp]|quicktime|3gpp2?)|audio\/aac|audio\/aacp|audio\/mp4a-latm)$/,
  ogg: /^((audio|video|application)\/ogg|audio\/(opus|vorbis|speex))$/,
  matroska: /^(audio|video)\/(webm|x-matroska|matroska)$/,
  asf: /^((audio|video|application)\/(x-ms-asf|vnd\.ms-asf|x-ms-wm[av]))$/,
  wav: /^audio\/(wav|vnd\.wave)$/,
  avi: /^video\/(vnd\.avi|avi|msvideo|x-msvideo)$/,
  flac: /^audio\/(x-)?flac$/,
}

/** Known types outside `formats`, which can't always be recognised by their first bytes. */
const otherKnown =
  /^(text\/|image\/(bmp|tiff|svg\+xml|x-icon)$|audio\/(mpeg|amr|aiff|x-aiff|midi)$|video\/mpeg$|application\/(zip|json|xml|rtf|msword|vnd\.(ms-(excel|powerpoint|word)|openxmlformats-officedocument|oasis\.opendocument)))/

/**
 * Why a declared mimetype contradicts the recognised content type; undefined if it doesn't, or may not. It is a contradiction
 * only if one of them is a format with unmistakable first bytes, and the other is known to be a different format. So a text
 * that begins like a bitmap passes, and so does a Word file recognised as a zip.
 */
export function mimetypeIssue(declared: string, contentType: string | undefined): string | undefined {
  if (!contentType) return undefined
  const declaredName = bareName(declared)
  const contentName = bareName(contentType)
  const declaredFormat = formatOf(declaredName)
  const contentFormat = formatOf(contentName)
  const isContradiction = declaredFormat
    ? declaredFormat !== contentFormat
    : contentFormat !== undefined && otherKnown.test(declaredName)
  return isContradiction
    ? `is ${declared}, but the content is recognised as ${contentName}: leave mimetype out, or make it match the content`
    : undefined
}

function formatOf(name: string): string | undefined {
  return Object.entries(formats).find(([, names]) => names.test(name))?.[0]
}
