const bytes = (...parts: (string | number[])[]) => {
  const head = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  )
  return Buffer.concat([head, Buffer.alloc(Math.max(0, 256 - head.length))])
}

const mp4 = (brand: string) => bytes([0, 0, 0, 24], 'ftyp', brand, [0, 0, 2, 0], brand, 'mp42')
const ogg = (codec: string) => bytes('OggS', [0, 2], Array(20).fill(0), [1, codec.length], codec)

/** The first bytes of files, by which their types are recognised. */
export const samples = {
  png: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
  jpeg: bytes([0xff, 0xd8, 0xff, 0xe0, 0, 16], 'JFIF', [0, 1, 1]),
  gif: bytes('GIF89a', [1, 0, 1, 0]),
  webp: bytes('RIFF', [0xf8, 0, 0, 0], 'WEBPVP8 '),
  mp3: bytes([0xff, 0xfb, 0x90, 0x64]),
  wav: bytes('RIFF', [0xf8, 0, 0, 0], 'WAVEfmt '),
  avi: bytes('RIFF', [0xf8, 0, 0, 0], 'AVI LIST'),
  mp4: mp4('isom'),
  m4a: mp4('M4A '),
  m4v: mp4('M4V '),
  oggOpus: ogg('OpusHead'),
  oggVorbis: ogg('\x01vorbis'),
  oggTheora: ogg('\x80theora'),
  oggOther: ogg('\x7fFLAC'),
  webm: bytes([0x1a, 0x45, 0xdf, 0xa3, 0x87, 0x42, 0x82, 0x84], 'webm'),
  pdf: bytes('%PDF-1.7\n'),
  zip: Buffer.concat([Buffer.from('PK\x05\x06', 'latin1'), Buffer.alloc(18)]),
  plainText: Buffer.from('just some words\n'),
  svg: Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
}
