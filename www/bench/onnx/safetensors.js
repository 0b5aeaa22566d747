/** A file of safetensors (https://huggingface.co/docs/safetensors) of `{ name: { shape, numbers } }` in f32. */
export function safetensorsOf(weights) {
  const header = {};
  let at = 0;
  for (const [name, { shape, numbers }] of Object.entries(weights)) header[name] = { dtype: 'F32', shape, data_offsets: [at, (at += 4 * numbers.length)] };
  const text = new TextEncoder().encode(JSON.stringify(header));
  // Numbers begin at a multiple of 8.
  const start = 8 * Math.ceil((8 + text.length) / 8);
  const file = new Uint8Array(start + at).fill(0x20, 0, start);
  new DataView(file.buffer).setBigUint64(0, BigInt(start - 8), true);
  file.set(text, 8);
  Object.values(weights).forEach(({ numbers }, k) => file.set(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength), start + Object.values(header)[k].data_offsets[0]));
  return file;
}
