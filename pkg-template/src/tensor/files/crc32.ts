/** The checksum of zip archives: CRC-32 with the polynomial 0xEDB88320. */

let table: Uint32Array | null = null;

function makeTable(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let rest = byte;
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
    return rest;
  });
}

/** Continues the checksum of earlier bytes, which is 0 before the first ones. */
export function crc32(bytes: Uint8Array, before = 0): number {
  table ??= makeTable();
  let rest = ~before;
  for (let i = 0; i < bytes.length; i++) rest = (table[(rest ^ (bytes[i] as number)) & 255] as number) ^ (rest >>> 8);
  return ~rest >>> 0;
}
