/** Loading and saving files of tensors: what is in a file is what a tensor holds. On a fake GPU, and on the CPU with a fake module. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { fakeGpu } from './fake-gpu.mjs';
import { residuaError } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';
import { GGUF, gguf, joined, npy, safetensors, u32, u64, zip } from './tensor-files/made.mjs';

const here = (name) => new URL(`./tensor-files/${name}`, import.meta.url);
const unpacked = (base64) => new Uint8Array(Buffer.from(base64, 'base64'));

async function open(backend) {
  installTensors();
  return T.Device.create(backend === 'gpu' ? { share: fakeGpu() } : { backend });
}

/** The numbers of tensors by name, with their types and shapes. */
async function contents(tensors) {
  const all = await Promise.all(Object.entries(tensors).map(async ([name, tensor]) => [name, [tensor.dtype, tensor.shape, [...(await tensor.data())]]]));
  return Object.fromEntries(all);
}

for (const backend of ['gpu', 'cpu']) {
  test(`${backend}: safetensors of every type are loaded, and saved ones are the same`, async () => {
    const device = await open(backend);
    const bf16 = Uint16Array.of(0x3fc0, 0xc000, 0x7f80);
    const file = safetensors(
      [
        ['f64', 'F64', [3], Float64Array.of(0.1, -2, 1e300)], ['f32', 'F32', [3, 1], Float32Array.of(0.1, -2, NaN)], ['f16', 'F16', [3], Uint16Array.of(0x3c00, 0xc000, 0x0001)], ['bf16', 'BF16', [3], bf16],
        ['i64', 'I64', [2], BigInt64Array.of(-(2n ** 31n), 2n ** 31n - 1n)], ['i32', 'I32', [1, 1, 2], Int32Array.of(-7, 8)], ['i16', 'I16', [3], Int16Array.of(-300, 5, 6)], ['i8', 'I8', [5], Int8Array.of(-128, 127, 1, 2, 3)],
        ['u64', 'U64', [1], BigUint64Array.of(2n ** 32n - 1n)], ['u32', 'U32', [], Uint32Array.of(4e9)], ['u16', 'U16', [1], Uint16Array.of(65535)], ['u8', 'U8', [3], Uint8Array.of(0, 7, 255)],
        ['bool', 'BOOL', [3], Uint8Array.of(0, 1, 1)], ['nothing', 'F32', [0, 4], new Float32Array(0)], ['__proto__', 'U8', [1], Uint8Array.of(1)],
      ],
      { format: 'pt', __proto__x: 'ü' },
    );
    const { tensors, metadata } = await T.loadSafetensors(file, { device });
    assert.deepEqual(metadata, { format: 'pt', __proto__x: 'ü' });
    assert.deepEqual(await contents(tensors), Object.fromEntries([
      ['f64', ['f32', [3], [Math.fround(0.1), -2, Infinity]]], ['f32', ['f32', [3, 1], [Math.fround(0.1), -2, NaN]]], ['f16', ['f16', [3], [1, -2, 2 ** -24]]], ['bf16', ['f32', [3], [1.5, -2, Infinity]]],
      ['i64', ['i32', [2], [-(2 ** 31), 2 ** 31 - 1]]], ['i32', ['i32', [1, 1, 2], [-7, 8]]], ['i16', ['i32', [3], [-300, 5, 6]]], ['i8', ['i32', [5], [-128, 127, 1, 2, 3]]],
      ['u64', ['u32', [1], [2 ** 32 - 1]]], ['u32', ['u32', [], [4e9]]], ['u16', ['u32', [1], [65535]]], ['u8', ['u8', [3], [0, 7, 255]]],
      ['bool', ['bool', [3], [0, 1, 1]]], ['nothing', ['f32', [0, 4], []]], ['__proto__', ['u8', [1], [1]]],
    ]));

    const saved = await T.saveSafetensors(tensors, metadata);
    const again = await T.loadSafetensors(saved, { device });
    assert.deepEqual(await contents(again.tensors), await contents(tensors));
    assert.deepEqual(again.metadata, metadata);
    const mixed = Object.fromEntries(Object.entries(tensors).reverse());
    assert.deepEqual(Buffer.from(await (await T.saveSafetensors(mixed, metadata)).arrayBuffer()), Buffer.from(await saved.arrayBuffer()), 'the order of a record does not matter');
    assert.equal(Number(new BigUint64Array(await saved.slice(0, 8).arrayBuffer())[0]) % 8, 0, 'numbers begin at a multiple of 8');
  });

  test(`${backend}: floating-point numbers become the type that is asked for`, async () => {
    const device = await open(backend);
    const file = safetensors([['a', 'F64', [2], Float64Array.of(1 + 2 ** -11 + 2 ** -40, -70000)], ['b', 'F32', [3], Float32Array.of(0.5, 1e-8, 3)], ['c', 'BF16', [1], Uint16Array.of(0x4000)], ['d', 'F16', [1], Uint16Array.of(0x3800)], ['e', 'I32', [1], Int32Array.of(9)]]);
    const halves = await T.loadSafetensors(file, { device, dtype: 'f16' });
    // Rounded once: through f32 the first would be a tie, and 1.
    assert.deepEqual(await contents(halves.tensors), { a: ['f16', [2], [1 + 2 ** -10, -Infinity]], b: ['f16', [3], [0.5, 0, 3]], c: ['f16', [1], [2]], d: ['f16', [1], [0.5]], e: ['i32', [1], [9]] });
    const whole = await T.loadSafetensors(file, { device, dtype: 'f32' });
    assert.deepEqual(Object.values(whole.tensors).map(({ dtype }) => dtype), ['f32', 'f32', 'f32', 'f32', 'i32']);
  });

  test(`${backend}: what is not selected is passed over without memory`, async () => {
    const device = await open(backend);
    const numbers = (k) => Float32Array.from({ length: 1000 }, (_, i) => k + i);
    const file = safetensors(['a', 'b', 'c', 'd'].map((name, k) => [name, name === 'b' ? 'F8_E4M3' : 'F32', name === 'b' ? [4000] : [1000], numbers(k)]));
    const before = device.stats().tensorBytes;
    const seen = [];
    const { tensors } = await T.loadSafetensors(file, { device, select: (name) => (seen.push(name), name === 'c') });
    assert.deepEqual(seen, ['a', 'b', 'c', 'd']);
    assert.deepEqual(Object.keys(tensors), ['c']);
    assert.deepEqual([...(await tensors.c.data())].slice(0, 3), [2, 3, 4]);
    assert.equal(device.stats().tensorBytes - before, 4000);
    await assert.rejects(T.loadSafetensors(file, { device }), residuaError('invalid-argument', /tensor "b": got type "F8_E4M3"; takes F64, F32/));
    assert.equal(device.stats().tensors, 1);
  });

  test(`${backend}: a loaded tensor is like any other`, async () => {
    const device = await open(backend);
    const { x } = await T.loadNpz(zip([{ name: 'x.npy', bytes: npy('<f4', [3], Float32Array.of(1, 2, 3)) }]), { device });
    assert.ok(x instanceof T.StoredTensor);
    assert.deepEqual([...(await x.add(x).data())], [2, 4, 6]);
    x.set([5], 2);
    assert.deepEqual([...(await x.data())], [1, 2, 5]);
    x.dispose();
    assert.equal(device.stats().tensors, 0);
    assert.equal(device.stats().tensorBytes, 0);
  });

  test(`${backend}: arrays of NumPy are loaded`, async () => {
    const device = await open(backend);
    const { arrays, archives } = JSON.parse(await readFile(here('numpy-files.json'), 'utf8'));
    // Fortran's order needs kernels, which the fakes have not: it is in www/checks.
    for (const { name, shape, values, file } of arrays.filter(({ name }) => !/Fortran/.test(name) || /column/.test(name))) {
      const tensor = await T.loadNpy(unpacked(file), { device });
      assert.deepEqual([tensor.shape, [...(await tensor.data())]], [shape, values.map(Number)], name);
    }
    for (const { name, count, file } of archives) {
      const found = await contents(await T.loadNpz(unpacked(file), { device }));
      assert.deepEqual(found, { weights: ['f32', [count], Array.from({ length: count }, (_, i) => i / 8)], bias: ['i32', [5], [-2, -1, 0, 1, 2]] }, name);
    }
  });

  test(`${backend}: a saved array is the one that is loaded again`, async () => {
    const device = await open(backend);
    const cases = [['f32', [2, 2], [1, -2.5, 2 ** 127, 0]], ['f16', [3], [1, 0.5, -65504]], ['i32', [1, 2], [-1, 2 ** 31 - 1]], ['u32', [], [2 ** 32 - 1]], ['u8', [5], [0, 255, 7, 8, 9]], ['bool', [3], [1, 0, 1]], ['f32', [0, 2], []]];
    for (const [dtype, shape, numbers] of cases) {
      const file = await T.saveNpy(device.tensor(numbers, shape, dtype));
      const head = Buffer.from(await file.slice(0, 128).arrayBuffer());
      assert.equal((10 + head.readUInt16LE(8)) % 64, 0, 'numbers begin at a multiple of 64');
      const tensor = await T.loadNpy(file, { device });
      assert.deepEqual([tensor.dtype, tensor.shape, [...(await tensor.data())]], [dtype, shape, numbers]);
    }
  });
}

test('tensors are saved with what they hold at the call', async () => {
  const device = await open('gpu');
  const [a, b] = [device.tensor([1, 2]), device.tensor([3, 4])];
  const saving = T.saveSafetensors({ a, b, sum: a.add(b) });
  a.set([7, 7]);
  b.set([8, 8]);
  const { tensors } = await T.loadSafetensors(await saving, { device });
  assert.deepEqual(await contents(tensors), { a: ['f32', [2], [1, 2]], b: ['f32', [2], [3, 4]], sum: ['f32', [2], [4, 6]] });
});

test('what cannot be saved is refused', async () => {
  const device = await open('cpu');
  const a = device.tensor([1]);
  for (const [call, message] of [
    [() => T.saveSafetensors(null), /tensors: got null; takes an object of tensors/],
    [() => T.saveSafetensors(a), /tensors: got a StoredTensor/],
    [() => T.saveSafetensors({ a: [1] }), /tensors\["a"\]: got an array of 1; takes a Tensor/],
    [() => T.saveSafetensors({ __metadata__: a }), /the name '__metadata__'/],
    [() => T.saveSafetensors({ a }, { x: 1 }), /metadata.x: got 1; takes a text/],
    [() => T.saveSafetensors({ a }, { x: '\ud800' }), /half of a surrogate pair/],
    [() => T.saveSafetensors({ '\ud800': a }), /half of a surrogate pair/],
    [() => T.saveNpy([1]), /saveNpy: tensor: got an array of 1/],
  ]) await assert.rejects(call(), residuaError('invalid-argument', message));
  a.dispose();
  await assert.rejects(T.saveSafetensors({ a }), residuaError('disposed'));
});

test('archives have stored and deflated entries, sizes of 64 bits, and entries that are passed over', async () => {
  const device = await open('cpu');
  const large = (name, method) => {
    const bytes = npy('<i2', [300], Int16Array.from({ length: 300 }, (_, i) => i));
    return { name, bytes, method, extra: method === 8 ? new Uint8Array(0) : joined(u32(0x00040007), u32(0), Uint8Array.of(1, 0, 16, 0), u64(bytes.length), u64(bytes.length)), ...(method === 8 ? {} : { size: 0xffffffff, packed: 0xffffffff }) };
  };
  const file = zip([large('a.npy', 0), { name: 'notes.txt', bytes: Buffer.from('no array') }, large('b.npy', 8), large('folder/ü.npy', 0), { name: 'c.npy', bytes: Buffer.from('\x93NUMPY') }]);
  const found = await contents(await T.loadNpz(file, { device, select: (name) => name !== 'c' }));
  const expected = ['i32', [300], Array.from({ length: 300 }, (_, i) => i)];
  assert.deepEqual(found, { a: expected, b: expected, 'folder/ü': expected });
  assert.deepEqual(await T.loadNpz(zip([]), { device }), {});
});

test('metadata of every type is read', async () => {
  const device = await open('cpu');
  const metadata = {
    u8: GGUF.u8(255), i8: GGUF.i8(-128), u16: GGUF.u16(65535), i16: GGUF.i16(-2), u32: GGUF.u32(4e9), i32: GGUF.i32(-5), f32: GGUF.f32(0.5), f64: GGUF.f64(0.1), no: GGUF.bool(0), yes: GGUF.bool(1), text: GGUF.text('héllo'), empty: GGUF.text(''),
    u64: GGUF.u64(2n ** 53n - 1n), large: GGUF.u64(2n ** 63n), i64: GGUF.i64(-(2n ** 53n)), small: GGUF.i64(-9n), texts: GGUF.list(8, [GGUF.text('a'), GGUF.text('bc')]), numbers: GGUF.list(6, [GGUF.f32(1), GGUF.f32(2)]),
    lists: GGUF.list(9, [GGUF.list(4, [GGUF.u32(1)]), GGUF.list(8, [])]), nothing: GGUF.list(10, []), __proto__x: GGUF.u8(1),
  };
  const expected = {
    u8: 255, i8: -128, u16: 65535, i16: -2, u32: 4e9, i32: -5, f32: 0.5, f64: 0.1, no: false, yes: true, text: 'héllo', empty: '',
    u64: 2 ** 53 - 1, large: 2n ** 63n, i64: -(2n ** 53n), small: -9, texts: ['a', 'bc'], numbers: [1, 2], lists: [[1], []], nothing: [], __proto__x: 1,
  };
  for (const version of [2, 3]) assert.deepEqual((await T.loadGguf(gguf(metadata, [], { version }), { device })).metadata, expected);
});

test('a GGUF file without numbers may end with its header', async () => {
  const device = await open('cpu');
  assert.deepEqual(await T.loadGguf(gguf({}, []).slice(0, 24), { device }), { tensors: {}, metadata: {} });
  const { tensors } = await T.loadGguf(gguf({}, [['none', [0, 3], 0, new Float32Array(0)]]).slice(0, 24 + 48), { device });
  assert.deepEqual(await contents(tensors), { none: ['f32', [3, 0], []] });
});

test('plain tensors of GGUF have the outermost axis first', async () => {
  const device = await open('cpu');
  for (const alignment of [32, 64, 8]) {
    const file = gguf({ 'general.alignment': GGUF.u32(alignment) }, [
      ['f32', [3, 2], 0, Float32Array.of(1, 2, 3, 4, 5, 6)], ['f16', [2], 1, Uint16Array.of(0x3c00, 0x4000)], ['bf16', [1, 1, 2], 30, Uint16Array.of(0x3fc0, 0xc000)], ['f64', [], 28, Float64Array.of(0.25)],
      ['i8', [3], 24, Int8Array.of(-1, 2, 3)], ['i16', [1], 25, Int16Array.of(-300)], ['i32', [1], 26, Int32Array.of(7)], ['i64', [2], 27, BigInt64Array.of(-1n, 5n)], ['none', [0, 2], 0, new Float32Array(0)],
    ], { alignment });
    const { tensors } = await T.loadGguf(file, { device });
    assert.deepEqual(await contents(tensors), {
      f32: ['f32', [2, 3], [1, 2, 3, 4, 5, 6]], f16: ['f16', [2], [1, 2]], bf16: ['f32', [2, 1, 1], [1.5, -2]], f64: ['f32', [], [0.25]],
      i8: ['i32', [3], [-1, 2, 3]], i16: ['i32', [1], [-300]], i32: ['i32', [1], [7]], i64: ['i32', [2], [-1, 5]], none: ['f32', [2, 0], []],
    });
  }
});

const { default: blocks } = await import('./tensor-files/ggml-blocks.json', { with: { type: 'json' } });
const floats = (base64) => [...new Float32Array(unpacked(base64).buffer)];

const fromHalf = (bits) => (bits & 0x8000 ? -1 : 1) * (bits & 0x7c00 ? (1024 + (bits & 1023)) * 2 ** (((bits >> 10) & 31) - 25) : (bits & 1023) * 2 ** -24);

/** The bytes of the words and of the side of quantised weights. */
async function planesOf({ device, planes }) {
  const bytes = { u32: 4, f16: 2 };
  const parts = [planes.words, planes.side].map(({ source, dtype, shape }) => ({ memory: source.memory, bytes: shape.reduce((a, b) => a * b, bytes[dtype]) }));
  return (await T.Device.coreOf(device).engine.read(parts)).map((plane) => new Uint8Array(plane.buffer));
}

/** The numbers of a matrix of q8_0 or q4_0, by the definition of its planes. */
function numbersOf({ type, shape }, [words, scales]) {
  const bits = type === 'q8_0' ? 8 : 4;
  const [packed, own] = [new Uint32Array(words.buffer), [...new Uint16Array(scales.buffer)].map(fromHalf)];
  return Array.from({ length: shape[0] * shape[1] }, (_, i) => {
    const value = (packed[Math.floor((i * bits) / 32)] >>> ((i * bits) % 32)) & (2 ** bits - 1);
    return own[Math.floor(i / 32)] * (bits === 8 ? (value << 24) >> 24 : value - 8);
  });
}

/** The numbers of q8_0 blocks of GGML. */
function q8Numbers(base64) {
  const bytes = unpacked(base64);
  const view = new DataView(bytes.buffer);
  return Array.from({ length: (bytes.length / 34) * 32 }, (_, i) => fromHalf(view.getUint16(34 * Math.floor(i / 32), true)) * view.getInt8(34 * Math.floor(i / 32) + 2 + (i % 32)));
}

for (const [name, { code, numbers, bytes, blocks: packed, values, q8_0: again }] of Object.entries(blocks)) {
  test(`blocks of ${name} are the numbers that GGML makes of them`, async () => {
    const device = await open('cpu');
    const data = unpacked(packed);
    const count = (data.length / bytes) * numbers;
    // Twice the same blocks: a block in the middle of a file begins anywhere in a piece.
    const file = gguf({}, [['row', [count], code, data], ['cube', [count, 1, 2, 1], code, joined(data, data)], ['matrix', [count, 2], code, joined(data, data)], ['experts', [count, 1, 2], code, joined(data, data)]]);
    const { tensors } = await T.loadGguf(file, { device });
    const expected = floats(values);
    const { row, cube } = await contents({ row: tensors.row, cube: tensors.cube });
    assert.deepEqual(row, ['f32', [count], expected]);
    assert.deepEqual(cube, ['f32', [1, 2, 1, count], [...expected, ...expected]]);
    const { matrix, experts } = tensors;
    const isKept = !/^(TQ|MXFP)/.test(name);
    const stored = isKept ? matrix.type.toUpperCase() : 'Q8_0';
    assert.deepEqual([matrix.type, matrix.shape, experts.type, experts.shape], [matrix.type, [2, count], matrix.type, [2, 1, count]]);
    assert.equal(stored, isKept ? name : 'Q8_0');
    const planes = await Promise.all([matrix, experts].map(planesOf));
    assert.deepEqual(planes[1], planes[0], 'matrices follow one another');
    if (isKept) assert.ok(planes[0].reduce((sum, plane) => sum + plane.byteLength, 0) <= 1.05 * 2 * data.length);
    // tests/package/tensor-quantised.test.mjs has the numbers of the other formats.
    if (!isKept || name === 'Q4_0' || name === 'Q8_0') {
      const kept = isKept ? expected : q8Numbers(again);
      assert.deepEqual(numbersOf(matrix, planes[0]).map(Math.fround), [...kept, ...kept].map(Math.fround));
    }
    T.dispose(tensors);
    assert.equal(device.stats().tensors, 0);
    const halves = await T.loadGguf(file, { device, dtype: 'f16', select: (one) => one === 'row' });
    assert.equal(halves.tensors.row.dtype, 'f16');
  });
}
