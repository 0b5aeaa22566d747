/** Files of tensors: they come from where pages have them, and hold on the device what they hold in the file. */
import { dispose, linear, loadGguf, loadNpy, loadNpz, loadSafetensors, saveNpy, saveSafetensors } from 'residua/tensor';
import { onEach } from '../define.js';
import { tensorDevice } from '../tensors/compare.js';
import { fill } from '../tensors/numbers.js';

/** Parts one after the other: texts, and numbers as bytes. */
const joined = async (...parts) => new Uint8Array(await new Blob(parts).arrayBuffer());
const u32 = (value) => Uint32Array.of(value);
const u64 = (value) => BigUint64Array.of(BigInt(value));

/** A .npy file of any header. */
function npy(descr, order, shape, numbers) {
  const header = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${shape.map((size) => `${size},`).join('')}), }\n`;
  return joined(Uint8Array.of(0x93), 'NUMPY', Uint8Array.of(1, 0, header.length, 0), header, numbers);
}

/** CRC-32 bit by bit. */
function crc32(bytes) {
  let rest = ~0;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  }
  return ~rest >>> 0;
}

/** An entry of a zip archive, deflated. */
async function deflated(name, bytes) {
  const body = new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer());
  const head = Uint16Array.of(0x4b50, 0x0403, 20, 0, 8, 0, 0);
  return joined(head, u32(crc32(bytes)), u32(body.length), u32(bytes.length), Uint16Array.of(name.length, 0), name, body);
}

const text = (words) => new Blob([u64(words.length), words]);

/** A GGUF file of tensors `[name, sizes with the innermost first, code, bytes]`. */
async function gguf(tensors) {
  let end = 0;
  const entries = tensors.map(([name, sizes, code, bytes]) => {
    const at = end;
    end += Math.ceil(bytes.byteLength / 32) * 32;
    return new Blob([text(name), u32(sizes.length), ...sizes.map(u64), u32(code), u64(at)]);
  });
  const head = await joined('GGUF', u32(3), u64(tensors.length), u64(1), text('general.name'), u32(8), text('made'), ...entries);
  const padded = (bytes) => new Blob([bytes, new Uint8Array((32 - (bytes.byteLength % 32)) % 32)]);
  return joined(padded(head), ...tensors.map(([, , , bytes]) => padded(bytes)));
}

/** What a stream of bytes gives in chunks of a size that divides nothing. */
function inChunks(bytes, size) {
  let at = 0;
  return new ReadableStream({
    pull(to) {
      if (at >= bytes.length) return to.close();
      to.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

async function savedAndLoaded(check) {
  const device = await tensorDevice(check);
  const numbers = fill([-100, 100], 3000, 'f32');
  const made = { f32: device.tensor(numbers), f16: device.tensor(numbers.slice(0, 999), [999], 'f16'), i32: device.tensor([-7, 8], [2, 1], 'i32'), u32: device.tensor([2 ** 32 - 1], [], 'u32'), u8: device.tensor([0, 7, 255], [3], 'u8'), bool: device.tensor([1, 0, 1], [3], 'bool') };
  const file = await saveSafetensors({ ...made, sum: made.f32.add(1).sum() }, { words: 'é' });
  const address = URL.createObjectURL(file);
  check.defer(() => URL.revokeObjectURL(address));
  const sources = { 'a Blob': file, 'an address': address, 'a promise of a response': fetch(address), 'memory': await file.arrayBuffer(), 'a stream of odd chunks': inChunks(new Uint8Array(await file.arrayBuffer()), 1021) };
  for (const [name, source] of Object.entries(sources)) {
    const start = device.stats().tensorBytes;
    const { tensors, metadata } = await loadSafetensors(source, { device });
    check.equal(metadata.words, 'é', `metadata from ${name}`);
    for (const [key, tensor] of Object.entries(made)) {
      check.equal(tensors[key].dtype, tensor.dtype, `the type of ${key} from ${name}`);
      check.same(tensors[key].shape, tensor.shape, `the shape of ${key} from ${name}`);
      check.same([...(await tensors[key].data())], [...(await tensor.data())], `the numbers of ${key} from ${name}`);
    }
    dispose(tensors);
    check.equal(device.stats().tensorBytes, start, `bytes after ${name}`);
  }
}

async function arrays(check) {
  const device = await tensorDevice(check);
  const shape = [3, 4, 5];
  const at = ([i, j, k]) => 100 * i + 10 * j + k;
  const inC = Array.from({ length: 60 }, (_, n) => at([Math.floor(n / 20), Math.floor(n / 5) % 4, n % 5]));
  const inFortran = Array.from({ length: 60 }, (_, n) => at([n % 3, Math.floor(n / 3) % 4, Math.floor(n / 12)]));
  const cases = [
    ['f4 in C order', '<f4', 'False', Float32Array.from(inC)], ['f4', '<f4', 'True', Float32Array.from(inFortran)], ['f8', '<f8', 'True', Float64Array.from(inFortran)],
    ['i8', '<i8', 'True', BigInt64Array.from(inFortran, BigInt)], ['u2', '<u2', 'True', Uint16Array.from(inFortran)], ['u1', '|u1', 'True', Uint8Array.from(inFortran)],
  ];
  for (const [name, descr, order, numbers] of cases) {
    const tensor = await loadNpy(new Blob([await npy(descr, order, shape, numbers)]), { device });
    check.same(tensor.shape, shape, `the shape of ${name}`);
    check.same([...(await tensor.data())], name === 'u1' ? inC.map((value) => value & 255) : inC, `the numbers of ${name}`);
    const again = await loadNpy(await saveNpy(tensor), { device });
    check.same([...(await again.data())], [...(await tensor.data())], `the numbers of ${name}, saved and loaded`);
  }
  const entry = await npy('<f4', 'True', [2, 3], Float32Array.of(1, 4, 2, 5, 3, 6));
  const file = await joined(await deflated('x.npy', entry), await deflated('y.npy', await npy('<i8', 'False', [2], BigInt64Array.of(-1n, 2n))), u32(0x06054b50), new Uint8Array(18));
  const { x, y } = await loadNpz(inChunks(file, 37), { device });
  check.same(await x.matmul(x.T).toArray(), [[14, 32], [32, 77]], 'a product of a deflated array');
  check.same([...(await y.data())], [-1, 2], 'integers of a deflated array');
  const before = device.stats().tensors;
  check.match(await check.failureInWords(() => loadNpz(file.slice(0, -30), { device })), /invalid-argument: loadNpz: .*ends at byte/, 'a truncated archive');
  check.equal(device.stats().tensors, before, 'tensors after a failure');
}

/** Scales of 2^-k, so that what is computed from blocks is exact. */
async function quantised(check) {
  const device = await tensorDevice(check);
  const [rows, columns] = [6, 512];
  const bytes = (size) => new Uint8Array(((rows * columns) / 32) * size).map((_, i) => Math.floor(((i * 0.618) % 1) * 256));
  const long = (size) => new Uint8Array(((rows * columns) / 256) * size).map((_, i) => (i * 37) & 255);
  const [eight, four, five, six, ternary] = [bytes(34), bytes(18), bytes(22), long(210), long(66)];
  const numbers = { eight: [], four: [], five: [], six: [], ternary: [] };
  for (let block = 0; block < (rows * columns) / 32; block++) {
    const scale = 2 ** -(1 + (block % 5));
    const half = (15 - 1 - (block % 5)) << 10;
    for (const [data, size] of [[eight, 34], [four, 18], [five, 22]]) [data[block * size], data[block * size + 1]] = [half & 255, half >> 8];
    for (let i = 0; i < 32; i++) {
      numbers.eight.push(scale * ((eight[block * 34 + 2 + i] << 24) >> 24));
      const nibble = (data, at) => (data[at + (i % 16)] >> (i < 16 ? 0 : 4)) & 15;
      numbers.four.push(scale * (nibble(four, block * 18 + 2) - 8));
      const high = (five[block * 22 + 2 + (i >> 3)] >> (i & 7)) & 1;
      numbers.five.push(scale * ((nibble(five, block * 22 + 6) | (high << 4)) - 16));
    }
  }
  for (let block = 0; block < (rows * columns) / 256; block++) {
    const at = block * 210;
    [six[at + 208], six[at + 209]] = [0, 0x2c];
    for (let i = 0; i < 256; i++) {
      const low = (six[at + 64 * (i >> 7) + (i & 63)] >> (4 * ((i >> 6) & 1))) & 15;
      const high = (six[at + 128 + 32 * (i >> 7) + (i & 31)] >> (2 * ((i >> 5) & 3))) & 3;
      numbers.six.push((1 / 16) * ((six[at + 192 + (i >> 4)] << 24) >> 24) * ((low | (high << 4)) - 32));
    }
    // Three values become q8_0, whose largest number of a block is 127 steps, so that they are kept only nearly.
    [ternary[block * 66 + 64], ternary[block * 66 + 65]] = [0, 0x2c];
    for (let i = 0; i < 256; i++) numbers.ternary.push((1 / 16) * (((ternary[block * 66 + 32 * (i >> 7) + (i & 31)] >> (2 * ((i >> 5) & 3))) & 3) - 1));
  }
  const file = await gguf([['eight', [columns, rows], 8, eight], ['four', [columns, rows], 2, four], ['five', [columns, rows], 6, five], ['six', [columns, rows], 14, six], ['ternary', [columns, rows], 35, ternary], ['plain', [3], 30, Uint16Array.of(0x3f80, 0x4000, 0xc040)], ['row', [32], 2, four.slice(0, 18)]]);
  const { tensors, metadata } = await loadGguf(inChunks(file, 999), { device });
  check.equal(metadata['general.name'], 'made', 'metadata');
  check.same([...(await tensors.plain.data())], [1, 2, -3], 'bf16');
  check.same([...(await tensors.row.data())], numbers.four.slice(0, 32), 'a quantised row');
  const types = { eight: 'q8_0', four: 'q4_0', five: 'q5_0', six: 'q6_K', ternary: 'q8_0' };
  for (const [name, expected] of Object.entries(numbers)) {
    const tensor = tensors[name];
    check.equal(tensor.type, types[name], `the type of ${name}`);
    check.same(tensor.shape, [rows, columns], `the shape of ${name}`);
    const found = await tensor.dequantize().data();
    const isExact = name !== 'ternary';
    for (let block = 0; block < expected.length; block += 32) {
      const most = Math.max(...expected.slice(block, block + 32).map(Math.abs));
      // Half a step of 1/127 of the largest, and the rounding of the scale to 11 bits.
      const allowed = isExact ? 0 : most * (0.5 / 127 + 2 ** -11) * 1.001;
      const worst = Math.max(...expected.slice(block, block + 32).map((value, i) => Math.abs(value - found[block + i])));
      check.ok(worst <= allowed, `block ${block / 32} of ${name} is off by ${worst}, and ${allowed} is allowed`);
    }
    const ones = device.tensor(new Float32Array(columns).fill(1), [1, columns]);
    const sums = await linear(ones, tensor).data();
    const exact = Array.from({ length: rows }, (_, row) => found.slice(row * columns, (row + 1) * columns).reduce((sum, value) => sum + value, 0));
    const size = Array.from({ length: rows }, (_, row) => found.slice(row * columns, (row + 1) * columns).reduce((sum, value) => sum + Math.abs(value), 0));
    exact.forEach((value, row) => check.ok(Math.abs(sums[row] - value) <= size[row] * columns * 2 ** -24, `row ${row} of ${name}: the sum is ${sums[row]}, and ${value} exactly`));
  }
  dispose(tensors);
}

async function refusals(check) {
  const device = await tensorDevice(check);
  const start = device.stats().tensorBytes;
  const words = (source) => check.failureInWords(() => loadSafetensors(source, { device }));
  check.match(await words(new Response('nothing', { status: 404 })), /invalid-argument: loadSafetensors: source: got HTTP status 404/, 'a response without a file');
  check.match(await words(location.pathname), /invalid-argument: loadSafetensors: source: got a page of type "text\/html/, 'a page');
  check.match(await words(new Blob(['<!DOCTYPE html>'])), /byte 0: got "<!DOCTYP"/, 'a page in a Blob');
  const header = JSON.stringify({ a: { dtype: 'F32', shape: [2 ** 20], data_offsets: [0, 2 ** 22] }, b: { dtype: 'F32', shape: [4], data_offsets: [2 ** 22, 2 ** 22 + 16] } });
  const file = await joined(u64(header.length), header, new Uint8Array(2 ** 22));
  check.match(await words(inChunks(file, 100_000)), /invalid-argument: loadSafetensors: tensor "b": got a file that ends at byte/, 'a truncated stream');
  const controller = new AbortController();
  const loading = loadSafetensors(inChunks(file, 100_000), { device, signal: controller.signal, onProgress: (loaded) => loaded > 10 ** 6 && controller.abort() });
  check.match(await check.failureInWords(loading), /aborted: loadSafetensors was aborted by its signal/, 'a load that is aborted');
  check.equal(device.stats().tensorBytes, start, 'bytes after failures');
}

export const group = {
  id: 'tensor-files', title: 'Files of tensors',
  about: 'safetensors, GGUF and the formats of NumPy, from addresses, Blobs, memory and streams: each holds on the device what it holds in the file, and a wrong one leaves nothing.',
  checks: [
    ...onEach('Saved tensors are the same when they are loaded from anywhere', savedAndLoaded),
    ...onEach('Arrays of NumPy in either order, stored and deflated', arrays),
    ...onEach('Quantised matrices of GGUF keep their numbers, or nearly where they become q8_0', quantised),
    ...onEach('Wrong files are refused and leave nothing', refusals),
  ],
};
