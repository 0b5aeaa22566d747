/**
 * Files that are wrong: each is refused with the place and what was found, and leaves nothing on the device. Random damage of valid files never
 * hangs and never gives another error. RESIDUA_CASES is the number of damaged files of each kind.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { residuaError } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';
import { randomNumbers } from './reference.mjs';
import { GGUF, gguf, ggufTensor, ggufText, joined, npy, npyOf, safetensors, safetensorsOf, streamOf, u32, u64, zip } from './tensor-files/made.mjs';

const CASES = Number(process.env.RESIDUA_CASES ?? 400);

installTensors();
const device = await T.Device.create({ backend: 'cpu' });
const bytes = (count) => Uint8Array.from({ length: count }, (_, i) => i);
const counted = ({ tensors, tensorBytes, programBytes }) => ({ tensors, tensorBytes, programBytes });

/** Loads bytes as they are and as a stream, whose length only its end tells. */
async function refused(load, file, message) {
  const before = counted(device.stats());
  for (const source of [file, streamOf(file, [64])]) {
    await assert.rejects(load(source, { device }), residuaError(/memory|limit/.test(message) ? undefined : 'invalid-argument', message));
  }
  assert.deepEqual(counted(device.stats()), before);
}

/** Runs a table of `[name, file, message]`. */
function refusals(title, load, cases) {
  test(title, async () => {
    for (const [name, file, message] of cases) await refused(load, file, message).catch((error) => assert.fail(`${name}: ${error.message}`));
  });
}

const entry = (dtype, shape, ...data_offsets) => ({ dtype, shape, data_offsets });
const f32 = (count, from = 0) => entry('F32', [count], from, from + 4 * count);

refusals('wrong safetensors are refused with their place', T.loadSafetensors, [
  ['nothing', new Uint8Array(0), /loadSafetensors: the length of the header: got a file that ends at byte 0; takes 8 bytes from byte 0 on/],
  ['a page', Buffer.from('<!DOCTYPE html><html></html>'), /byte 0: got "<!DOCTYP", a header of \d+ bytes; takes a safetensors file/],
  ['another format', gguf({}, []), /byte 0: got the bytes 47 47 55 46 03 00 00 00, a header of \d+ bytes/],
  ['a header of 2^60 bytes', joined(u64(2n ** 60n), '{}'), /a header of 1152921504606846976 bytes; takes a safetensors file/],
  ['a header of 2^64 - 1 bytes', joined(u64(2n ** 64n - 1n), '{}'), /a header of 18446744073709551615 bytes/],
  ['a header beyond the end', joined(u64(1000), '{}'), /the header: got a file that ends at byte 10; takes 1000 bytes from byte 8 on/],
  ['no object', safetensorsOf('[1,2]'), /byte 8: got "\[1,2\]"; takes a safetensors file, whose header begins with '\{'/],
  ['no UTF-8', joined(u64(8), Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x7b, 0x7d, 0x7d)), /the header: got bytes that are no UTF-8/],
  ['half a header', safetensorsOf('{"a":{"dtype":"F32"'), /the header, character 19: got its end; takes ',' or '\}'/],
  ['text after the header', safetensorsOf('{} x'), /character 3: got "x"; takes the end of the header/],
  ['a string without an end', safetensorsOf('{"a'), /character 1: got a string without an end/],
  ['a wrong escape', safetensorsOf('{"\\x":1}'), /a key without control characters and unknown escapes/],
  ['a name twice', safetensorsOf('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', bytes(1)), /got the key "a" twice in the header; takes each name once/],
  ['an escaped name twice', safetensorsOf('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\\u0061":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', bytes(1)), /"a" twice/],
  ['a member twice', safetensorsOf('{"a":{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,1]}}', bytes(1)), /the key "dtype" twice in tensor "a"/],
  ['deep nesting', safetensorsOf(`{"a":{"x":${'['.repeat(100000)}`), /got values in values; takes at most 32 levels/],
  ['a missing member', safetensorsOf({ a: { dtype: 'U8', shape: [1] } }), /tensor "a": got an entry with type, sizes; takes dtype, shape and data_offsets/],
  ['a negative size', safetensorsOf({ a: entry('U8', [-1], 0, 1) }, bytes(1)), /got "-1\],.*takes whole numbers below 2\^53 in a shape/],
  ['a fraction', safetensorsOf({ a: entry('U8', [1.5], 0, 1) }, bytes(1)), /got "1.5\]/],
  ['a size of 2^60', safetensorsOf('{"a":{"dtype":"U8","shape":[1152921504606846976],"data_offsets":[0,1]}}', bytes(1)), /got "1152921504606846976"?/],
  ['sizes whose product overflows', safetensorsOf({ a: entry('U8', [2 ** 32, 2 ** 32, 2 ** 32], 0, 1) }, bytes(1)), /tensor "a": shape: got \[4294967296, 4294967296, 4294967296\]; takes at most 2\^48 elements/],
  ['sizes that a zero hides', safetensorsOf({ a: entry('U8', [2 ** 52, 2 ** 52, 0], 0, 0) }), /takes at most 2\^48 elements/],
  ['many axes', safetensorsOf({ a: entry('U8', Array(33).fill(1), 0, 1) }, bytes(1)), /got 33 axes; takes at most 32/],
  ['offsets of another length', safetensorsOf({ a: entry('F32', [2], 0, 4) }, bytes(4)), /tensor "a": got 4 bytes; takes 8 for F32 \[2\]/],
  ['offsets that go back', safetensorsOf({ a: entry('U8', [1], 1, 0) }, bytes(1)), /data_offsets: got \[1, 0\]; takes where its bytes begin and end/],
  ['three offsets', safetensorsOf({ a: entry('U8', [1], 0, 1, 2) }, bytes(1)), /data_offsets: got \[0, 1, 2\]/],
  ['overlapping tensors', safetensorsOf({ a: f32(4), b: f32(4, 8) }, bytes(24)), /tensor "b": got bytes 8 to 24; takes bytes from 16 on, where those before end/],
  ['a gap', safetensorsOf({ a: f32(1), b: f32(1, 8) }, bytes(12)), /tensor "b": got bytes 8 to 12; takes bytes from 4 on/],
  ['a tensor in the text', safetensorsOf({ __metadata__: { a: { b: 'c' } } }), /got "\{\\"b\\":\\"c\\"\}\}\}"; takes texts as metadata/],
  ['bytes after the end', safetensorsOf({ a: f32(1) }, bytes(5)), /source: got (\d+ bytes; takes \d+, where the last tensor of its header ends|more bytes; takes a file that ends at byte)/],
  ['a truncated body', safetensorsOf({ a: f32(100) }, bytes(200)), /source: got \d+ bytes; takes \d+|tensor "a": got a file that ends at byte \d+; takes 400 bytes from byte \d+ on/],
  ['an integer that does not fit', safetensors([['ids', 'I64', [40000], BigInt64Array.from({ length: 40000 }, (_, i) => (i === 39998 ? 2n ** 31n : BigInt(i)))]]), /tensor "ids": element 39998: got the i64 number 2147483648; takes numbers that fit i32/],
  ['a small integer that does not fit', safetensors([['ids', 'I64', [2], BigInt64Array.of(-5n, -(2n ** 40n))]]), /element 1: got the i64 number -1099511627776/],
  ['a large integer that does not fit', safetensors([['ids', 'U64', [1], BigUint64Array.of(2n ** 64n - 1n)]]), /element 0: got the u64 number 18446744073709551615; takes numbers that fit u32/],
  ['complex numbers', safetensorsOf({ a: entry('C64', [1], 0, 8) }, bytes(8)), /tensor "a": got type "C64"; takes F64, F32, F16, BF16/],
]);

const dictionary = (descr, order, shape) => `{'descr': ${descr}, 'fortran_order': ${order}, 'shape': ${shape}, }`;

refusals('wrong .npy files are refused with their place', T.loadNpy, [
  ['nothing', new Uint8Array(0), /the first bytes: got a file that ends at byte 0/],
  ['another format', Buffer.from('PK\x03\x04 an archive'), /byte 0: got the bytes 50 4b 03 04.*takes a file of NumPy's .npy format/],
  ['version 9', npyOf('{}', bytes(0), 9), /byte 6: got version 9.0 of the format; takes 1.0, 2.0 and 3.0/],
  ['a header of 2^32 - 1 bytes', joined(Uint8Array.of(0x93), 'NUMPY', Uint8Array.of(2, 0), u32(2 ** 32 - 1), 'x'), /byte 8: got a header of 4294967295 bytes; takes at most 65536/],
  ['a header beyond the end', joined(Uint8Array.of(0x93), 'NUMPY', Uint8Array.of(1, 0, 100, 0), '{}'), /the header: got a file that ends at byte 12; takes 100 bytes from byte 10 on/],
  ['no dictionary', npyOf('[1, 2]', bytes(0)), /the header: got "\[1, 2\]\\n"; takes a dictionary/],
  ['a missing key', npyOf("{'descr': '<f4', 'shape': (1,)}", bytes(4)), /takes a dictionary with 'descr', 'fortran_order' and 'shape'/],
  ['a key twice', npyOf("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", bytes(4)), /got 'descr' twice/],
  ['code', npyOf(dictionary("'<f4'", '__import__("os")', '(1,)'), bytes(4)), /takes a dictionary with/],
  ['objects', npyOf(dictionary("'|O'", 'False', '(1,)'), bytes(4)), /got the type "'\|O'"; takes numbers and truth values: f8/],
  ['texts', npyOf(dictionary("'<U5'", 'False', '(1,)'), bytes(20)), /got the type "'<U5'"/],
  ['complex numbers', npyOf(dictionary("'<c8'", 'False', '(1,)'), bytes(8)), /got the type "'<c8'"/],
  ['records', npyOf(dictionary("[('x', '<f4')]", 'False', '(1,)'), bytes(8)), /got the type "\[\('x', '<f4'\)\]"/],
  ['an order that is none', npyOf(dictionary("'<f4'", '1', '(1,)'), bytes(4)), /got fortran_order "1"; takes True or False/],
  ['a negative size', npyOf(dictionary("'<f4'", 'False', '(-1,)'), bytes(4)), /got the shape "\(-1,\)"; takes a tuple of whole numbers/],
  ['a size of 2^60', npyOf(dictionary("'<f4'", 'False', '(1152921504606846976,)'), bytes(4)), /got the shape/],
  ['sizes whose product overflows', npyOf(dictionary("'<f4'", 'False', '(4294967296, 4294967296)'), bytes(4)), /takes at most 2\^48 elements/],
  ['a truncated body', npy('<f8', [100], bytes(799)), /the array: got a file that ends at byte \d+; takes 800 bytes from byte \d+ on/],
  ['an integer that does not fit', npy('>i8', [1], Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 0)), /the array: element 0: got the i64 number 4294967296/],
]);

const array = npy('<f4', [64], new Float32Array(64).fill(0.5));
const one = (told) => zip([{ name: 'a.npy', bytes: array, method: 8, ...told }]);

refusals('wrong archives are refused with their place', T.loadNpz, [
  ['nothing', new Uint8Array(0), /the header of an entry or the list of entries: got a file that ends at byte 0/],
  ['another format', array, /byte 0: got the bytes 93 4e 55 4d; takes the header of an entry of a zip archive/],
  ['no list at the end', zip([{ name: 'a.npy', bytes: array }], new Uint8Array(0)), /the header of an entry or the list of entries: got a file that ends at byte/],
  ['something after an entry', zip([{ name: 'a.npy', bytes: array }], Buffer.from('what is this')), /byte \d+: got "what"; takes the header of an entry/],
  ['an encrypted entry', one({ flags: 1 }), /entry "a.npy" at byte 0: got an encrypted entry/],
  ['sizes that follow', one({ flags: 8 }), /got an entry whose sizes follow it; takes those with sizes before/],
  ['another compression', zip([{ name: 'a.npy', bytes: array, method: 93 }]), /got compression 93; takes 0 \(stored\) and 8 \(deflated\)/],
  ['a wrong checksum', one({ checksum: 7 }), /entry "a.npy": got bytes of the checksum [0-9a-f]+; takes those of 7/],
  ['a name twice', zip([{ name: 'a.npy', bytes: array }, { name: 'a.npy', bytes: array }]), /entry "a.npy" twice; takes each name once/],
  ['a bomb', zip([{ name: 'a.npy', bytes: array, method: 8, size: 2 ** 31 }]), /bytes in the archive for 2147483648; takes at most 1032 for one/],
  ['more than it says', zip([{ name: 'a.npy', bytes: joined(array, new Uint8Array(1e6)), method: 8, size: array.length }]), /entry "a.npy": got more bytes; takes \d+ bytes/],
  ['less than it says', zip([{ name: 'a.npy', bytes: npy('<f4', [640], new Float32Array(64)), method: 8, size: array.length + 2304 + 1 }]), /entry "a.npy"/],
  ['a stored entry of two sizes', zip([{ name: 'a.npy', bytes: array, packed: 10 }]), /got 10 bytes in the archive for \d+; takes as many for a stored entry/],
  ['an array of another size', zip([{ name: 'a.npy', bytes: joined(array, bytes(3)) }]), /entry "a.npy": got \d+ bytes; takes \d+, of which the array and its header have/],
  ['bytes that are not deflated', zip([{ name: 'a.npy', bytes: new Uint8Array(300).fill(255) }]).with(8, 8), /entry "a.npy": got a failure of the stream at byte 0: /],
  ['no array', zip([{ name: 'a.npy', bytes: Buffer.from('something else') }]), /entry "a.npy": byte 0: got "somethin"; takes a file of NumPy's/],
  ['sizes of 64 bits that are not there', one({ packed: 0xffffffff }), /got no extra field with its sizes/],
  ['sizes of 2^60', one({ packed: 0xffffffff, size: 0xffffffff, extra: joined(Uint8Array.of(1, 0, 16, 0), u64(2n ** 60n), u64(2n ** 60n)) }), /size: got 1152921504606846976; takes a number below 2\^53/],
  ['an extra field beyond its end', one({ packed: 0xffffffff, extra: Uint8Array.of(1, 0, 16, 0, 1) }), /got no extra field with its sizes/],
  ['a name that is no UTF-8', joined(zip([{ name: 'x', bytes: array }]).slice(0, 30).with(26, 1), Uint8Array.of(0xff)), /byte 30: got bytes that are no UTF-8|ends at byte/],
]);

const head = (tensors, pairs, ...rest) => joined('GGUF', u32(3), u64(tensors), u64(pairs), ...rest);
const pair = (key, [code, value]) => joined(ggufText(key), u32(code), value);
const tensor = (name, sizes, code, offset) => joined(head(1, 0, ggufTensor(name, sizes, code, offset)), new Uint8Array(64));

refusals('wrong GGUF files are refused with their place', T.loadGguf, [
  ['nothing', new Uint8Array(0), /the first bytes: got a file that ends at byte 0/],
  ['another format', safetensors([]), /byte 0: got the bytes 02 00.*takes a file of the GGUF format, which begins with 'GGUF'/],
  ['the old format', joined('ggml', u32(1)), /byte 0: got the bytes 67 67 6d 6c/],
  ['version 1', joined('GGUF', u32(1), u32(0), u32(0)), /byte 4: got version 1; takes versions 2 and 3/],
  ['the highest byte first', joined('GGUF', Uint8Array.of(0, 0, 0, 3)), /byte 4: got a file with the highest byte first/],
  ['2^60 tensors', head(2n ** 60n, 0), /the number of tensors at byte 8: got 1152921504606846976; takes a number below 2\^53/],
  ['2^50 tensors', head(2n ** 50n, 0), /the number of tensors at byte 8: got 1125899906842624; takes at most 5592405/],
  ['2^50 keys', head(0, 2n ** 50n), /the number of keys at byte 16: got 1125899906842624/],
  ['a million keys of nothing', head(0, 10n ** 6n), /the number of keys, which is 1000000: got a file that ends at byte 24|key 0 of the metadata: got a file that ends/],
  ['a text of 2^60 bytes', head(0, 1, u64(2n ** 60n), new Uint8Array(64)), /the length of key 0 of the metadata at byte 24: got 1152921504606846976/],
  ['a long name', head(0, 1, u64(2n ** 20n), new Uint8Array(64)), /key 0 of the metadata at byte 24: got a text of 1048576 bytes; takes at most 65536/],
  ['a text beyond the end', head(0, 1, pair('a', [8, u64(1000)]), new Uint8Array(64)), /metadata "a": got a file that ends at byte/],
  ['a name that is no UTF-8', head(0, 1, u64(1), Uint8Array.of(0xff), new Uint8Array(64)), /key 0 of the metadata at byte 24: got bytes that are no UTF-8/],
  ['a key twice', head(0, 2, pair('a', GGUF.u8(1)), pair('a', GGUF.u8(1))), /byte 38: got metadata "a" twice; takes each key once/],
  ['a type that is none', head(0, 1, pair('a', [13, bytes(8)])), /metadata "a" before byte 37: got type 13; takes types 0 to 12/],
  ['a list of 2^60', head(0, 1, pair('a', [9, joined(u32(0), u64(2n ** 60n))]), new Uint8Array(64)), /the length of metadata "a" at byte 41: got 1152921504606846976/],
  ['a list of 2^25', head(0, 1, pair('a', [9, joined(u32(0), u64(2n ** 25n))]), new Uint8Array(64)), /metadata "a"(: got a list of 33554432; takes at most 16777216|, which is 33554432: got a file)/],
  ['lists in lists', head(0, 1, pair('a', [9, joined(...Array(1000).fill(joined(u32(9), u64(1))))])), /got lists in lists; takes at most 8 levels/],
  ['an alignment of 0', joined(gguf({ 'general.alignment': GGUF.u32(0) }, [])), /metadata "general.alignment": got 0; takes a power of two/],
  ['an alignment of 24', gguf({ 'general.alignment': GGUF.u32(24) }, []), /got 24; takes a power of two/],
  ['an alignment in words', gguf({ 'general.alignment': GGUF.text('32') }, []), /got "32"; takes a power of two/],
  ['five axes', tensor('t', [1, 1, 1, 1, 1], 0, 0), /tensor "t": got 5 axes; takes at most 4/],
  ['2^32 - 1 axes', joined(head(1, 0, ggufText('t'), u32(2 ** 32 - 1)), new Uint8Array(64)), /tensor "t": got 4294967295 axes/],
  ['a size of 2^60', tensor('t', [2n ** 60n], 0, 0), /the shape of tensor "t" at byte \d+: got 1152921504606846976/],
  ['sizes whose product overflows', tensor('t', [2 ** 32, 2 ** 32], 0, 0), /tensor "t": shape: got \[4294967296, 4294967296\]; takes at most 2\^48 elements/],
  ['a type of numbers that is none', tensor('t', [32], 77, 0), /tensor "t": got type 77; takes F32, F16, Q4_0/],
  ['a type that is not read', tensor('t', [256], 16, 0), /source: got \d+ bytes|tensor "t": got type IQ2_XXS; takes F32, F16, Q4_0/],
  ['half a block', tensor('t', [48, 2], 8, 0), /tensor "t": got Q8_0 \[2, 48\]; takes rows of a multiple of 32/],
  ['a place between', tensor('t', [1], 0, 8), /tensor "t": got byte 8 of the numbers as its beginning; takes a multiple of the alignment, 32/],
  ['a place of 2^52', tensor('t', [1], 0, 2 ** 52), /source: got \d+ bytes; takes 45\d+|tensor "t": got a file that ends at byte/],
  ['a name twice', joined(head(2, 0, ggufTensor('t', [1], 0, 0), ggufTensor('t', [1], 0, 32)), new Uint8Array(96)), /tensor "t" twice; takes each name once/],
  ['overlapping tensors', joined(head(2, 0, ggufTensor('t', [9], 0, 0), ggufTensor('u', [9], 0, 32)), new Uint8Array(128)), /tensor "u": got byte 32 of the numbers as its beginning; takes 36 or more/],
  ['a truncated body', gguf({}, [['t', [32, 400], 8, new Uint8Array(34 * 400)]]).slice(0, 9000), /source: got 9000 bytes; takes 13\d+|tensor "t": got a file that ends at byte 9000; takes 13600 bytes from byte \d+ on/],
  ['numbers beyond q8_0', gguf({}, [['t', [32, 1], 39, new Uint8Array(17).fill(255).with(0, 180)]]), /tensor "t": numbers 0 to 31: got a number of size \d.*; takes numbers of at most 8e6 in size/],
]);

test('tensors of types that are not read do not matter where they are not selected', async () => {
  const file = gguf({}, [['t', [256], 16, new Uint8Array(66)], ['u', [3], 99, bytes(12)], ['v', [2], 0, Float32Array.of(1, 2)]]);
  const { tensors } = await T.loadGguf(file, { device, select: (name) => name === 'v' });
  assert.deepEqual([...(await tensors.v.data())], [1, 2]);
  T.dispose(tensors);
});

const floats = Float32Array.from({ length: 40 }, (_, i) => i);
const KINDS = [
  { name: 'safetensors', load: T.loadSafetensors, file: safetensors([['a', 'F32', [2, 20], floats], ['bé', 'I64', [2], BigInt64Array.of(1n, -1n)], ['c', 'BF16', [3], Uint16Array.of(1, 2, 3)]], { k: 'v' }) },
  { name: '.npy', load: T.loadNpy, file: npy('>f4', [2, 20], floats) },
  { name: '.npz', load: T.loadNpz, file: zip([{ name: 'a.npy', bytes: npy('<f4', [40], floats), method: 8 }, { name: 'b.npy', bytes: npy('|i1', [3], bytes(3)) }]) },
  { name: 'GGUF', load: T.loadGguf, file: gguf({ 'general.name': GGUF.text('x'), list: GGUF.list(8, [GGUF.text('a'), GGUF.text('b')]), n: GGUF.u32(5) }, [['a', [32, 2], 8, bytes(68)], ['b', [32], 3, bytes(20)], ['c', [5], 0, floats.slice(0, 5)]]) },
];

/** A file with bytes changed, removed, repeated, or without its end. */
function damaged(file, next) {
  const below = (count) => Math.floor(next() * count);
  let result = Buffer.from(file);
  for (let edits = 1 + below(3); edits > 0; edits--) {
    const place = below(result.length + 1);
    const choice = below(6);
    if (choice === 0) result = result.subarray(0, place);
    else if (choice === 1) result = Buffer.concat([result.subarray(0, place), result.subarray(place + 1 + below(8))]);
    else if (choice === 2) result = Buffer.concat([result.subarray(0, place), result.subarray(Math.max(0, place - below(9)))]);
    // Most of a header's numbers stand in its first bytes.
    else if (result.length > 0) result[below(choice === 3 ? result.length : Math.min(result.length, 120))] = choice === 5 ? [0, 1, 0x7f, 0x80, 0xff][below(5)] : below(256);
    result = Buffer.from(result);
  }
  return new Uint8Array(result);
}

for (const { name, load, file } of KINDS) {
  test(`a damaged ${name} file is loaded or refused, and leaves nothing`, { timeout: 60_000 + 50 * CASES }, async () => {
    const next = randomNumbers(5);
    const start = counted(device.stats());
    const seen = { loaded: 0, refused: 0 };
    T.dispose(await load(file, { device }));
    for (let number = 0; number < CASES; number++) {
      const bad = damaged(file, next);
      try {
        T.dispose(await load(number % 2 === 0 ? bad : streamOf(bad, [1 + Math.floor(next() * 50)]), { device }));
        seen.loaded += 1;
      } catch (error) {
        assert.ok(error instanceof T.ResiduaError && ['invalid-argument', 'limit-exceeded', 'out-of-memory'].includes(error.code), `${Buffer.from(bad).toString('base64')}\n${error.stack}`);
        assert.match(error.message, /^load(Safetensors|Np[yz]|Gguf): /);
        seen.refused += 1;
      }
      assert.deepEqual(counted(device.stats()), start);
    }
    // Changed numbers of bodies are not noticed but in archives, which have checksums.
    assert.ok(seen.refused > CASES / 3, JSON.stringify(seen));
  });
}
