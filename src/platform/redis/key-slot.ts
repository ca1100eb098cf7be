export const clusterSlots = 16_384
const polynomial = 0x10_21

/** The slot of a Redis Cluster in which a key is: that of its hash tag, if it has one. */
export function slotOfKey(key: string): number {
  return slotOfTag(/\{([^}]+)\}/.exec(key)?.[1] ?? key)
}

/** CRC16 (XMODEM) of the tag. */
export function slotOfTag(tag: string): number {
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80_00 ? (crc << 1) ^ polynomial : crc << 1
  }
  return (crc & 0xff_ff) % clusterSlots
}
