// Fourier transforms and complex numbers on the CPU, by the module that is packed: beside transforms in double precision, in programs, and in memory.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { FFT_ERROR, noise, relativeError, transformed } from '../../www/checks/tensors/fourier.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

/** All up to 64; primes, powers, and mixtures of small primes; lengths in passes; convolutions. */
const LENGTHS = [...Array.from({ length: 64 }, (_, k) => k + 1), 97, 100, 127, 128, 169, 243, 256, 262, 509, 625, 1000, 1024, 1331, 2310, 3125, 4096, 4097, 5005, 8192, 10007, 2 ** 5 * 3 * 5 * 7 * 11 * 13, 65536];

/** Pairs as the parts of complex numbers. */
const partsOf = (pairs) => [0, 1].map((part) => Float64Array.from({ length: pairs.length / 2 }, (_, k) => pairs[2 * k + part]));

test('the reference transform is the sum of its definition', () => {
  for (const n of [1, 6, 7, 12, 30]) {
    const [re, im] = [noise(n, 1), noise(n, 2)];
    const [x, y] = transformed(re, im, -1);
    for (let k = 0; k < n; k++) {
      let [a, b] = [0, 0];
      for (let j = 0; j < n; j++) {
        const [c, s] = [Math.cos((2 * Math.PI * j * k) / n), -Math.sin((2 * Math.PI * j * k) / n)];
        a += re[j] * c - im[j] * s;
        b += re[j] * s + im[j] * c;
      }
      // Sums of at most 30 numbers below 1, in double precision.
      assert.ok(Math.abs(x[k] - a) < 1e-13 && Math.abs(y[k] - b) < 1e-13, `${n}, ${k}`);
    }
  }
});

for (const n of LENGTHS) {
  test(`transforms of ${n} elements are near to those in double precision, and undo each other`, async () => {
    const pairs = noise(2 * n, n);
    const [re, im] = partsOf(pairs);
    const z = device.tensor(pairs, [n], 'c64');
    const x = device.tensor(Float32Array.from(re));
    const [forward, backward, half, again, real] = await device.read(T.fft(z), T.ifft(z, { norm: 'forward' }), T.rfft(x), T.ifft(T.fft(z)), T.irfft(T.rfft(x), { length: n }));
    const bound = FFT_ERROR;
    const check = (name, found, [a, b], factor = 1) => {
      const error = relativeError(partsOf(found), [a, b]);
      assert.ok(error <= factor * bound, `${name}: ${error}, at most ${factor * bound}`);
    };
    check('fft', forward, transformed(re, im, -1));
    check('ifft', backward, transformed(re, im, 1));
    const count = Math.floor(n / 2) + 1;
    assert.equal(half.length, 2 * count);
    check('rfft', half, transformed(re, new Float64Array(n), -1).map((part) => part.slice(0, count)));
    // Two transforms.
    check('ifft of fft', again, [re, im], 2);
    const error = relativeError([real, new Float64Array(n)], [re, new Float64Array(n)]);
    assert.ok(error <= 2 * bound, `irfft of rfft: ${error}`);
    z.dispose();
    x.dispose();
  });
}

test('transforms of 2²⁰ elements are near to those in double precision', async () => {
  const n = 2 ** 20;
  const pairs = noise(2 * n, 5);
  const [re, im] = partsOf(pairs);
  const [z, x] = [device.tensor(pairs, [n], 'c64'), device.tensor(Float32Array.from(re))];
  const [forward, half, real] = await device.read(T.fft(z), T.rfft(x), T.irfft(T.rfft(x)));
  const spectrum = transformed(re, im, -1);
  // X[k] of the real parts is half of X[k] + conj X[n − k].
  const opposite = (k) => (n - k) % n;
  const ofReal = [0, 1].map((part) => Float64Array.from({ length: n / 2 + 1 }, (_, k) => (spectrum[part][k] + (part === 0 ? 1 : -1) * spectrum[part][opposite(k)]) / 2));
  for (const [name, found, expected] of [['fft', partsOf(forward), spectrum], ['rfft', partsOf(half), ofReal]]) {
    const error = relativeError(found, expected);
    assert.ok(error <= FFT_ERROR, `${name}: ${error}`);
  }
  const none = new Float64Array(n);
  const error = relativeError([real, none], [re, none]);
  assert.ok(error <= 2 * FFT_ERROR, `irfft of rfft: ${error}`);
  z.dispose();
  x.dispose();
});

test('transforms go along any axis, of views and of many rows', async () => {
  for (const n of [5, 16, 34, 48, 105, 1024]) {
    const shape = [3, n, 5];
    const pairs = noise(2 * 15 * n, n);
    const z = device.tensor(pairs, shape, 'c64');
    const at = (i, j, k) => 2 * ((i * n + j) * 5 + k);
    // The tensor, a transposed one, every second of the last axis from its end, and one that repeats.
    const cases = [
      [T.fft(z, { axes: 1 }), [3, n, 5], (i, k) => [i, k], 1],
      [T.ifft(z.transpose(0, 1), { axes: 0, norm: 'forward' }), [n, 3, 5], (i, k) => [i, k], 0],
      [T.fft(z.flip(2).slice(null, null, [0, null, 2]), { axes: 1 }), [3, n, 3], (i, k) => [i, 4 - 2 * k], 1],
      [T.fft(z.slice([1, 2]).broadcastTo([2, n, 5]), { axes: 1 }), [2, n, 5], (i, k) => [1, k], 1],
    ];
    const found = await device.read(...cases.map(([transform]) => transform));
    cases.forEach(([, [a, b, c], from, axis], number) => {
      const [rows, columns] = axis === 1 ? [a, c] : [b, c];
      for (let i = 0; i < rows; i++) {
        for (let k = 0; k < columns; k++) {
          const [row, column] = from(i, k);
          const own = [0, 1].map((part) => Float64Array.from({ length: n }, (_, j) => pairs[at(row, j, column) + part]));
          const place = (j) => 2 * (axis === 1 ? (i * n + j) * c + k : (j * b + i) * c + k);
          const result = [0, 1].map((part) => Float64Array.from({ length: n }, (_, j) => found[number][place(j) + part]));
          const error = relativeError(result, transformed(...own, axis === 1 ? -1 : 1));
          assert.ok(error <= FFT_ERROR, `case ${number} of ${n}, row ${i}, column ${k}: ${error}`);
        }
      }
    });
    z.dispose();
  }
});

test('an impulse has a spectrum of magnitude 1, and the spectrum the energy of the signal', async () => {
  const n = 4096;
  const impulse = new Float32Array(n);
  impulse[5] = 1;
  const x = device.tensor(noise(n, 3));
  const [magnitudes, energy, spectral] = await device.read(T.fft(device.tensor(impulse)).abs(), x.square().sum(), T.fft(x, { norm: 'ortho' }).abs().square().sum());
  // One product and rotations by roots, each with an error of a unit of f32 or two.
  for (const size of magnitudes) assert.ok(Math.abs(size - 1) < 1e-6, `${size}`);
  assert.ok(Math.abs(spectral[0] / energy[0] - 1) < 2 * FFT_ERROR, `${spectral[0]} and ${energy[0]}`);
});

test('irfft leaves out the imaginary parts of the ends, and takes other numbers of frequencies', async () => {
  for (const n of [2, 3, 64, 130, 131, 262, 1000]) {
    const x = device.tensor(noise(n, 11));
    const half = T.rfft(x);
    const count = half.sizes[0];
    const ends = T.complex(T.zeros([count]), T.iota([count], 0).eq(0).or(T.iota([count], 0).mul(2).eq(n)).cast('f32').mul(3));
    const [plain, moved, more] = await device.read(x, T.irfft(half.add(ends), { length: n }), T.irfft(half.pad([[0, 5]], { value: 9 }), { length: n }));
    const none = new Float64Array(n);
    for (const found of [moved, more]) {
      const error = relativeError([found, none], [plain, none]);
      // Two transforms; the ends are about as large as the other frequencies.
      assert.ok(error <= 2 * FFT_ERROR, `${n}: ${error}`);
    }
  }
});

test('roots of a length whose squares are longer than 32 bits are exact', async () => {
  // Of a prime p, the transform of e^(2πi 5j/p) is p at 5 alone. 70,001 is one; its squares have up to 33 bits.
  const n = 70001;
  const wave = new Float32Array(2 * n);
  for (let j = 0; j < n; j++) [wave[2 * j], wave[2 * j + 1]] = [Math.cos((2 * Math.PI * ((5 * j) % n)) / n), Math.sin((2 * Math.PI * ((5 * j) % n)) / n)];
  const found = await T.fft(device.tensor(wave, [n], 'c64'), { norm: 'forward' }).data();
  const [re, im] = partsOf(found);
  const error = Math.sqrt(re.reduce((sum, x, k) => sum + (x - Number(k === 5)) ** 2 + im[k] ** 2, 0));
  assert.ok(error <= FFT_ERROR, `${error}`);
});

test('complex numbers are stored, read, written and assigned as pairs', async () => {
  const z = device.tensor([[1, 2], [3, 4], [5, 6]], undefined, 'c64');
  assert.deepEqual([z.dtype, z.shape], ['c64', [3]]);
  assert.deepEqual(await z.toArray(), [[1, 2], [3, 4], [5, 6]]);
  assert.deepEqual([...(await device.tensor([1, 2, 3, 4], undefined, 'c64').data())], [1, 2, 3, 4]);
  assert.deepEqual(device.tensor(Float64Array.of(1, 2, 3, 4), [1, 2], 'c64').shape, [1, 2]);
  assert.deepEqual([...(await device.zeros([2], 'c64').data())], [0, 0, 0, 0]);
  z.set([7, 8], 1);
  await z.set(z.mul(T.complex(T.zeros([]), T.ones([]))));
  assert.deepEqual([...(await z.data())], [-2, 1, -8, 7, -6, 5]);
  const kept = await device.store({ both: [z, z.conj()], size: z.abs() });
  assert.deepEqual([kept.both[1].dtype, kept.size.dtype], ['c64', 'f32']);
  assert.deepEqual([...(await kept.both[1].data())], [-2, -1, -8, -7, -6, -5]);
  const found = await device.compact(z.maskedSelect(z.real().lt(-3)));
  assert.deepEqual([found.dtype, found.shape, ...(await found.data())], ['c64', [2], -8, 7, -6, 5]);
  const scalar = device.tensor([1, -1], [], 'c64');
  assert.deepEqual(await scalar.toArray(), [1, -1]);

  for (const [call, message] of [
    [() => device.tensor([1, 2, 3], undefined, 'c64'), /^tensor: data: got 3 numbers; takes 4: the shape is \[2\] of c64/],
    [() => device.tensor([1, 2, 3], [3], 'c64'), /^tensor: data: got 3 numbers; takes 6/],
    [() => device.tensor([[1, 2, 3]], undefined, 'c64'), /^tensor: data: got .*; takes lists of two numbers/],
    [() => device.tensor(7, undefined, 'c64'), /^tensor: data: got 7; takes lists of two numbers/],
    [() => z.set([1, 2, 3]), /^set: data: got 3 numbers; takes two numbers for each element of c64/],
    [() => z.set([1, 2, 3, 4], 2), /^set: data: got 4 numbers from element 2 on; takes at most 3 elements/],
  ]) assert.throws(call, (error) => error.code === 'invalid-argument' && message.test(error.message) || assert.fail(error.message));
  await assert.rejects(z.set(T.ones([3])), /set: value: got f32 \[3\]; takes type c64/);
});

test('programs take and give complex numbers, with sizes that each run tells', async () => {
  const n = T.dim('n', 200);
  const sum = device.zeros([4], 'c64');
  const program = await device.compile({ z: T.spec('c64', [n, 4]), by: T.spec('c64', []), large: T.spec('c64', [300]) }, ({ z, by, large }) => {
    sum.assign(sum.add(z.mul(by).sum(0)));
    return { spectrum: T.fft(z), by: by.conj(), large: large.sum() };
  });
  const large = device.tensor(new Float32Array(600).fill(0.5), [300], 'c64');
  for (const [count, given] of [[2, large], [1, new Float32Array(600).fill(0.5)], [3, large]]) {
    const z = Float32Array.from({ length: 8 * count }, (_, k) => k % 5);
    const { spectrum, by, large: total } = program.run({ z, by: [0, 2], large: given }, { n: count });
    assert.deepEqual(spectrum.shape, [count, 4]);
    assert.deepEqual([...(await by.data())], [0, -2]);
    assert.deepEqual([...(await total.data())], [150, 150]);
    const found = await spectrum.data();
    const [x, y] = transformed(...partsOf(z.subarray(8 * count - 8)), -1);
    // Sums of four whole numbers by exact factors.
    assert.deepEqual([...found.subarray(8 * count - 8)].map((part) => Math.round(part) + 0), [0, 1, 2, 3].flatMap((k) => [Math.round(x[k]) + 0, Math.round(y[k]) + 0]));
  }
  assert.equal((await sum.data()).length, 8);
  assert.throws(() => program.run({ z: new Float32Array(4), by: [1, 2], large }, { n: 1 }), /z: got 4 numbers; takes 8: the shape is \[1, 4\] of c64/);
  assert.throws(() => program.run({ z: new Float32Array(8), by: 1, large }, { n: 1 }), /by: got one number; takes 2/);
  assert.throws(() => program.run({ z: device.zeros([1, 4]), by: [1, 2], large }, { n: 1 }), /z: got f32 \[1, 4\]; takes c64 \[1, 4\]/);
  program.dispose();
});

test('derivatives by complex numbers are those by their parts, and by one of several tensors of a part', async () => {
  const pairs = noise(12, 8);
  const z = device.tensor(pairs, [6], 'c64');
  const weight = device.tensor(noise(6, 9));
  const loss = (x) => T.fft(x).abs().mul(weight).sum().add(x.real().exp().sum());
  const [slope] = await device.read(...T.grad(loss(z), [z]));
  const at = async (place, step) => {
    const moved = Float32Array.from(pairs);
    moved[place] += step;
    return loss(device.tensor(moved, [6], 'c64')).item();
  };
  for (let place = 0; place < 12; place++) {
    const step = 0.01;
    const expected = ((await at(place, step)) - (await at(place, -step))) / (2 * step);
    // The loss is about 20, so its rounding of 1e-6 makes 1e-4 of the quotient; third derivatives of about 1 times step²/6 make 2e-5.
    assert.ok(Math.abs(slope[place] - expected) < 5e-4, `${place}: ${slope[place]}, not ${expected}`);
  }
  const x = device.tensor([3, 5]);
  const [one, other] = [T.complex(x, x), T.complex(x, x)];
  const slopes = await device.read(...T.grad(one.abs().square().add(x).sum(), [one, other, one.conj(), x]));
  // |x + ix|² = 2x²; what was not used has zeros.
  assert.deepEqual(slopes.map((each) => [...each].map(Math.round)), [[6, 6, 10, 10], [0, 0, 0, 0], [0, 0, 0, 0], [13, 21]]);
});

test('derivatives by complex numbers that were made of real ones count imaginary parts of 0', async () => {
  const x = device.tensor([2, 3]);
  const w = device.tensor([[1, 2], [-1, 4]], undefined, 'c64');
  for (const z of [x.cast('c64'), T.complex(x, T.zeros([2])), T.zeros([2], 'c64'), T.full([2], 1, 'c64').reshape([2])]) {
    // Im((a + bi)(c + di)) = ad + bc.
    const [slope] = await device.read(...T.grad(z.mul(w).imag().sum(), [z]));
    assert.deepEqual([...slope], [2, 1, 4, -1]);
  }
});

test('transforms of nothing, of one element and of many rows have the shapes of their operands', async () => {
  assert.equal((await T.fft(T.zeros([0, 8])).data()).length, 0);
  assert.deepEqual(T.rfft(T.zeros([2, 0, 3]), { axes: 2 }).sizes, [2, 0, 2]);
  assert.deepEqual(await T.fft(device.tensor([[5], [6]])).toArray(), [[[5, 0]], [[6, 0]]]);
  const rows = device.tensor(noise(3000 * 6, 2), [3000, 6]);
  const [sums, expected] = await device.read(T.rfft(rows).pick(1, 0).real(), rows.sum(1));
  // Six terms below 1.
  sums.forEach((sum, k) => assert.ok(Math.abs(sum - expected[k]) < 1e-6, `${k}`));
});

test('what has memory refuses what it cannot do with complex numbers', async () => {
  const z = device.zeros([2, 2, 3], 'c64');
  assert.throws(() => z.draw({ width: 1, height: 1 }), (error) => error.code === 'invalid-argument');
  const matrix = T.SparseMatrix.fromCoo(2, 2, device.tensor([0], [1], 'u32'), device.tensor([1], [1], 'u32'), device.tensor([1]));
  assert.throws(() => matrix.matmul(device.zeros([2], 'c64')), (error) => error.code === 'invalid-argument' && /c64/.test(error.message) || assert.fail(error.message));
  await assert.rejects(device.quantize(device.zeros([1, 32], 'c64'), 'q8_0'), (error) => error.code === 'invalid-argument');
  assert.throws(() => new T.Random(1).dropout(T.ones([4], 'c64'), 0.5), /^ResiduaError: dropout: got a tensor of c64/);
});

test('checks see complex results', async () => {
  const strict = await T.Device.create({ backend: 'cpu', checks: 'finite' });
  const z = strict.tensor([[1, 0], [0, 0]], undefined, 'c64');
  await assert.rejects(z.reciprocal().data(), (error) => error.code === 'non-finite' && /div gives a NaN or an infinity/.test(error.message) || assert.fail(error.message));
  await assert.rejects(z.indexSelect(strict.tensor([5], undefined, 'i32')).data(), (error) => error.code === 'invalid-argument');
  assert.deepEqual([...(await z.mul(2).data())], [2, 0, 0, 0]);
  strict.dispose();
});

test('a program with transforms names its kernels, and gives the same bits again', async () => {
  const x = device.tensor(noise(1000, 4));
  const program = await device.compile({}, () => T.rfft(x).abs());
  const first = await program.run().data();
  assert.deepEqual(await program.run().data(), first);
  program.dispose();
});
