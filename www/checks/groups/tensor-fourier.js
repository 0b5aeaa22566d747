/** Complex numbers and Fourier transforms of tensors, beside complex arithmetic and transforms in double precision. */
import * as T from 'residua/tensor';
import { complex, fft, grad, ifft, irfft, rfft, spec, where } from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { denoised, listening, spectrogram } from '../tensors/sound.js';
import { FFT_ERROR, noise, relativeError, transformed } from '../tensors/fourier.js';
import { SIGNALS } from '../tensors/signals.js';
import { onEach } from '../define.js';

const partsOf = (pairs) => [0, 1].map((part) => Float64Array.from({ length: pairs.length / 2 }, (_, k) => pairs[2 * k + part]));

/** Lengths by how they are cut: of one stage and of several, a convolution. Those of the second list take software adapters seconds each, those above 4,096 in passes too. */
const LENGTHS = [1, 2, 5, 12, 64, 97, 100, 1024];
const MORE_LENGTHS = [3, 4, 7, 8, 11, 13, 15, 16, 31, 49, 60, 127, 128, 169, 243, 256, 509, 1000, 1001, 2310, 4096, 4099, 8192, 9009, 65536, 2 ** 20, 3 * 2 ** 20];

/** Lengths along an axis that is not the last: of one kernel, and of two passes. */
const COLUMNS = [6, 48, 210];
const MORE_COLUMNS = [1024, 2048, 3003];

async function checkLength(check, n) {
  const device = await tensorDevice(check);
  const pairs = noise(2 * n, n);
  const [re, im] = partsOf(pairs);
  const [z, x] = [device.tensor(pairs, [n], 'c64'), device.tensor(Float32Array.from(re))];
  const [forward, half, again, real] = await device.read(fft(z), rfft(x), ifft(fft(z)), irfft(rfft(x), { length: n }));
  const count = Math.floor(n / 2) + 1;
  const none = new Float64Array(n);
  const bound = FFT_ERROR;
  const cases = [
    ['fft', partsOf(forward), transformed(re, im, -1), bound],
    ['rfft', partsOf(half), transformed(re, none, -1).map((part) => part.slice(0, count)), bound],
    ['ifft of fft', partsOf(again), [re, im], 2 * bound],
    ['irfft of rfft', [real, none], [re, none], 2 * bound],
  ];
  for (const [name, found, expected, allowed] of cases) {
    check.equal(found[0].length, expected[0].length, `the length of ${name}`);
    const error = relativeError(found, expected);
    check.ok(error <= allowed, `${name} of ${n} is off by ${error} of its norm, at most ${allowed}`);
  }
}

/** Transforms along the middle of three axes, of all numbers and of real ones, beside those of a few columns. */
async function checkColumns(check, n) {
  const device = await tensorDevice(check);
  const [rows, columns] = [2, 9];
  const pairs = noise(2 * rows * n * columns, n);
  const z = device.tensor(pairs, [rows, n, columns], 'c64');
  const [whole, half, real] = await device.read(fft(z, { axes: 1 }), rfft(z.real(), { axes: 1, norm: 'ortho' }), irfft(rfft(z.real(), { axes: 1 }), { axes: 1, length: n }));
  const count = Math.floor(n / 2) + 1;
  const none = new Float64Array(n);
  for (const [row, column] of [[0, 0], [1, 4], [1, 8]]) {
    const place = (j, length) => (row * length + j) * columns + column;
    const [re, im] = [0, 1].map((part) => Float64Array.from({ length: n }, (_, j) => pairs[2 * place(j, n) + part]));
    const parts = (found, length) => [0, 1].map((part) => Float64Array.from({ length }, (_, k) => found[2 * place(k, length) + part]));
    const ofReal = transformed(re, none, -1).map((part) => part.slice(0, count).map((x) => x / Math.sqrt(n)));
    const cases = [
      ['fft', parts(whole, n), transformed(re, im, -1), 1],
      ['rfft', parts(half, count), ofReal, 1],
      ['irfft of rfft', [Float64Array.from({ length: n }, (_, j) => real[place(j, n)]), none], [re, none], 2],
    ];
    for (const [name, found, expected, transforms] of cases) {
      const error = relativeError(found, expected);
      check.ok(error <= transforms * FFT_ERROR, `${name} of column ${column} of matrix ${row} is off by ${error} of its norm`);
    }
  }
}

const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c];
const over = (x, [c, d]) => times(x, [c / (c * c + d * d), -d / (c * c + d * d)]);
const polar = (size, angle) => [size * Math.cos(angle), size * Math.sin(angle)];

/** [name, of tensors, of two complex numbers, error in units of 2⁻²⁴ of the result's magnitude and its reason]. */
const ARITHMETIC = [
  ['add', (z, w) => z.add(w), ([a, b], [c, d]) => [a + c, b + d]],
  ['sub', (z, w) => z.sub(w), ([a, b], [c, d]) => [a - c, b - d]],
  ['mul', (z, w) => z.mul(w), times],
  ['div', (z, w) => z.div(w), over],
  ['reciprocal', (z) => z.reciprocal(), (x) => over([1, 0], x)],
  ['exp', (z) => z.exp(), ([a, b]) => polar(Math.exp(a), b)],
  ['sqrt', (z) => z.sqrt(), ([a, b]) => polar(Math.sqrt(Math.hypot(a, b)), Math.atan2(b, a) / 2)],
  ['conj and abs', (z) => complex(z.conj().imag(), z.abs()), ([a, b]) => [-b, Math.hypot(a, b)]],
  ['log', (z) => z.log(), ([a, b]) => [Math.log(Math.hypot(a, b)), Math.atan2(b, a)]],
];
/** At most a dozen roundings and two elementary functions of four units each. */
const ARITHMETIC_ERROR = 20 * 2 ** -24;

/** Parts of numbers whose squares are beyond single precision, and those of 0 and infinite ones. */
const HUGE = [[3e37, 4e37], [-3e-37, 4e-37], [0, 0], [Infinity, 1], [1, -Infinity]];

export const group = {
  id: 'tensor-fourier',
  title: 'Tensors: complex numbers and Fourier transforms',
  about: 'Transforms of many lengths beside double precision, arithmetic of complex numbers, a spectrogram and a filter.',
  checks: [
    ...SIGNALS.flatMap(([name, run]) => onEach(name, async (check) => run(T, await tensorDevice(check), (holds, claim) => check.ok(holds, claim)))),
    ...LENGTHS.flatMap((n) => onEach(`transforms of ${n} elements, and back`, (check) => checkLength(check, n))),
    ...MORE_LENGTHS.flatMap((n) => onEach(`transforms of ${n} elements, and back`, (check) => checkLength(check, n), { long: true })),
    ...COLUMNS.flatMap((n) => onEach(`transforms of columns of ${n} elements`, (check) => checkColumns(check, n))),
    ...MORE_COLUMNS.flatMap((n) => onEach(`transforms of columns of ${n} elements`, (check) => checkColumns(check, n), { long: true })),

    ...onEach('transforms repeat bit for bit', async (check) => {
      const device = await tensorDevice(check);
      const z = device.tensor(noise(2 * 3 * 8192, 6), [3, 8192], 'c64');
      const [first, second] = [await fft(z).data(), await fft(z).data()];
      check.ok(first.every((part, k) => Object.is(part, second[k])), 'the same bits');
    }, { long: true }),

    ...onEach('arithmetic of complex numbers', async (check) => {
      const device = await tensorDevice(check);
      const count = 200;
      const [z, w] = [1, 2].map((seed) => noise(2 * count, seed));
      const [x, y] = [z, w].map((pairs) => device.tensor(pairs, [count], 'c64'));
      const read = await device.read(...ARITHMETIC.map(([, apply]) => apply(x, y)));
      ARITHMETIC.forEach(([name, , exact], operation) => {
        for (let k = 0; k < count; k++) {
          const expected = exact([z[2 * k], z[2 * k + 1]], [w[2 * k], w[2 * k + 1]]);
          const error = Math.hypot(read[operation][2 * k] - expected[0], read[operation][2 * k + 1] - expected[1]);
          // A logarithm near 0 has the rounding of the magnitude, which is about 1.
          const size = Math.max(Math.hypot(...expected), name === 'log' ? 1 : 0);
          check.ok(error <= ARITHMETIC_ERROR * size, `${name} of element ${k} is off by ${error} of ${size}`);
        }
      });
    }),

    ...onEach('magnitudes and quotients neither overflow nor vanish', async (check) => {
      const device = await tensorDevice(check);
      const z = device.tensor(HUGE, undefined, 'c64');
      const [sizes, one, inverse, finite] = await device.read(z.abs(), z.slice([0, 2]).div(z.slice([0, 2])), z.slice([2]).reciprocal(), z.isFinite());
      check.ok(Math.abs(sizes[0] / 5e37 - 1) < 1e-6 && Math.abs(sizes[1] / 5e-37 - 1) < 1e-6, `magnitudes ${sizes}`);
      check.same(Array.from(sizes.slice(2)), [0, Infinity, Infinity], 'magnitudes');
      // Six roundings.
      [...one].forEach((part, k) => check.ok(Math.abs(part - ((k + 1) % 2)) < 1e-6, `z/z is ${one}`));
      check.same([inverse[0], ...Array.from(inverse.slice(2), (part) => part + 0)], [Infinity, 0, 0, 0, 0], 'reciprocals');
      check.same([...finite], [1, 1, 1, 0, 0], 'isFinite');
    }),

    ...onEach('products of complex matrices, sums and products of elements', async (check) => {
      const device = await tensorDevice(check);
      const [z, w] = [noise(24, 5), noise(24, 6)];
      const [x, y] = [device.tensor(z, [4, 3], 'c64'), device.tensor(w, [3, 4], 'c64')];
      const [product, sum, all] = await device.read(x.matmul(y), x.sum(0), y.prod());
      const at = (pairs, k) => [pairs[2 * k], pairs[2 * k + 1]];
      const near = (found, expected, what) => expected.forEach((part, k) => check.ok(Math.abs(found[k] - part) < 1e-6 * (1 + Math.abs(part)), `${what} is ${found}, not ${expected}`));
      for (let i = 0; i < 4; i++) {
        for (let j = 0; j < 4; j++) {
          const terms = [0, 1, 2].map((k) => times(at(z, 3 * i + k), at(w, 4 * k + j)));
          near(at(product, 4 * i + j), [0, 1].map((part) => terms.reduce((total, term) => total + term[part], 0)), `element ${i}, ${j} of the product`);
        }
      }
      for (let j = 0; j < 3; j++) near(at(sum, j), [0, 1].map((part) => [0, 1, 2, 3].reduce((total, i) => total + z[2 * (3 * i + j) + part], 0)), `sum ${j}`);
      near(all, Array.from({ length: 12 }, (_, k) => at(w, k)).reduce(times), 'the product of all');
    }),

    ...onEach('programs take complex numbers and give spectra, along two axes', async (check) => {
      const device = await tensorDevice(check);
      const program = await device.compile({ z: spec('c64', [6, 5]) }, ({ z }) => ({ spectrum: fft(z, { axes: [0, 1], norm: 'ortho' }), size: z.abs().square().sum() }));
      check.defer(() => program.dispose());
      for (const seed of [1, 2]) {
        const pairs = noise(60, seed);
        const { spectrum, size } = program.run({ z: seed === 1 ? pairs : device.tensor(pairs, [6, 5], 'c64') });
        const [found, energy] = await device.read(spectrum, size);
        check.equal(spectrum.dtype, 'c64', 'the type');
        // The sum of the squares stays: two transforms with the error of ten elements each.
        const total = found.reduce((sum, part) => sum + part * part, 0);
        check.ok(Math.abs(total / energy[0] - 1) <= 4 * FFT_ERROR, `${total} is not ${energy[0]}`);
        const rows = Array.from({ length: 6 }, (_, i) => transformed(...partsOf(pairs.subarray(10 * i, 10 * i + 10)), -1));
        const column = transformed(rows.map(([x]) => x[2]), rows.map(([, y]) => y[2]), -1);
        const second = [0, 1].map((part) => Array.from({ length: 6 }, (_, i) => found[2 * (5 * i + 2) + part] * Math.sqrt(30)));
        check.ok(relativeError(second, column) <= 4 * FFT_ERROR, 'a column of the spectrum');
      }
    }),

    ...onEach('derivatives go through transforms', async (check) => {
      const device = await tensorDevice(check);
      const z = device.tensor(noise(24, 3), [12], 'c64');
      // Σ|X|² = n Σ|x|², whose derivative is 2 n x; and the real part of frequency 0 is the sum of the real parts.
      const spectrum = fft(z);
      const [slope] = await device.read(...grad(spectrum.abs().square().sum().add(spectrum.real().pick(0, 0)), [z]));
      const numbers = await z.data();
      numbers.forEach((part, k) => {
        const expected = 24 * part + ((k + 1) % 2);
        check.ok(Math.abs(slope[k] - expected) < 1e-5 * 24, `derivative ${k} is ${slope[k]}, not ${expected}`);
      });
    }),

    ...onEach('a spectrogram shows the pitch, and a spectral filter leaves the tone', async (check) => {
      const device = await tensorDevice(check);
      const [rate, size] = [8000, 64];
      const tone = Float32Array.from({ length: 1024 }, (_, t) => Math.sin((2 * Math.PI * 1000 * t) / rate));
      const hiss = noise(1024, 7).map((x) => 0.05 * x);
      const frames = await spectrogram(device.tensor(tone), size).argmax(1).data();
      // 1000 Hz are 8 cycles of 64 samples.
      check.same([...new Set(frames)], [8], 'the loudest frequency of each frame');
      const heard = device.tensor(tone.map((x, t) => x + hiss[t]));
      const clean = await denoised(heard, device.tensor(hiss), size).data();
      check.equal(clean.length, 1024, 'the samples');
      // Beyond the first and last window, each sample is the sum of all pieces that cover it. The filter leaves the noise of the bins that the tone fills, a fifth of all.
      let [before, after] = [0, 0];
      for (let t = size; t < 1024 - size; t++) [before, after] = [before + hiss[t] ** 2, after + (clean[t] - tone[t]) ** 2];
      check.ok(after < before / 2, `the noise's energy is ${after}, before ${before}`);
    }),

    ...onEach('a spectrogram moves on with the samples of each run', async (check) => {
      const device = await tensorDevice(check);
      const [size, count] = [32, 64];
      const ring = device.zeros([256]);
      const program = await device.compile({ samples: spec('f32', [count]) }, ({ samples }) => listening(ring, samples, size));
      check.defer(() => program.dispose());
      // A quarter of the frequency that two samples a cycle have, then nothing: the tone moves to the left, out of the picture.
      const tone = Float32Array.from({ length: count }, (_, t) => Math.sin((Math.PI * t) / 4));
      const silence = new Float32Array(count);
      const bins = size / 2 + 1;
      const windows = (256 - size) / (size / 4) + 1;
      const places = [];
      for (const samples of [tone, silence, silence, silence, silence]) {
        const picture = program.run({ samples });
        check.same(picture.sizes, [bins, windows, 3], 'the picture');
        const red = (await picture.data()).filter((_, k) => k % 3 === 0);
        const row = red.subarray((bins - 1 - 4) * windows, (bins - 4) * windows);
        places.push(row.indexOf(1));
      }
      // The loudest window lies within the 64 samples of the tone, which 8 windows later are 64 further to the left; of silence all windows are equally loud.
      const [first, second, third, , last] = places;
      check.ok(first >= windows - 8, `the tone is at ${first} of ${windows}`);
      check.same([second, third], [first - 8, first - 16], 'where the tone is');
      check.equal(last, 0, 'the picture of silence');
    }),

    ...onEach('what is not selected of complex numbers does not leak', async (check) => {
      const device = await tensorDevice(check);
      const z = device.tensor([[Number.NaN, 1], [2, 3]], undefined, 'c64');
      check.same([...(await where(z.isNaN(), 0, z).data())], [0, 0, 2, 3]);
    }),
  ],
};
