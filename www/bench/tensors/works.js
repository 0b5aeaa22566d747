/**
 * Workloads of the benchmark of tensors. A work is `{ name, size, inputs, constants, operations, bytes, residua, tfjs, jax, transposed, expected }`:
 *
 *   inputs      shapes of the operands, whose numbers come from a fixed sequence in −½ … ½
 *   constants   of a library (`residua`, `tfjs`, `jax`), more operands, which are uploaded once: `{ values, shape, dtype }`
 *   operations  floating-point operations of one run, and `bytes` what it has to read and write: rates are of these
 *   residua, tfjs, jax   the result from the library's module and the operands as its arrays, of those that have the operation; of jax-js each use but the last needs `.ref`, and of a list of results the first is compared
 *   transposed  libraries whose result is the transpose of what is expected
 *   expected    from the inputs in double precision `{ value, scale, shape, weighted, weightedScale }`: the mean of the result, the magnitude that its error is compared with, and unless the
 *               result is a scalar its shape and the same two of its elements multiplied by `signs(shape)`
 */
import { congruential } from '../../problems/seeded-noise.js';

const sumOf = (list) => list.reduce((sum, x) => sum + x, 0);

/**
 * Factors ±1 of the elements of a result, those of its row times those of its column. The mean of a softmax or of a layer norm is the same for many wrong results; with signs it is not.
 * @param {readonly number[]} shape one axis or two
 */
export function signs(shape) {
  const [rows, columns] = shape.length === 1 ? [1, shape[0]] : shape;
  const of = (count, seed) => numbersOf(count, seed).map((x) => (x < 0 ? -1 : 1));
  return { ofRows: rows === 1 ? Float32Array.of(1) : of(rows, 100), ofColumns: of(columns, 101) };
}

/** The same, one for each element. */
export function signsOfElements(shape) {
  const { ofRows, ofColumns } = signs(shape);
  const all = new Float32Array(ofRows.length * ofColumns.length);
  ofRows.forEach((sign, i) => all.set(ofColumns.map((other) => sign * other), i * ofColumns.length));
  return all;
}

/** A matrix with its rows as columns. */
export function transposed(values, [rows, columns]) {
  return Float32Array.from(values, (_, i) => values[(i % rows) * columns + Math.floor(i / rows)]);
}

/**
 * Both means of a result whose rows are computed one by one. Elements of a typical size `rms` with random signs have a mean of about rms / √count.
 * @param {readonly number[]} shape
 * @param {(row: number) => ArrayLike<number>} rowOf
 */
export function means(shape, scale, rms, rowOf) {
  const { ofRows, ofColumns } = signs(shape);
  const count = ofRows.length * ofColumns.length;
  let [value, weighted] = [0, 0];
  for (let i = 0; i < ofRows.length; i++) {
    const row = rowOf(i);
    let [sum, signed] = [0, 0];
    for (let j = 0; j < ofColumns.length; j++) {
      sum += row[j];
      signed += ofColumns[j] * row[j];
    }
    value += sum;
    weighted += ofRows[i] * signed;
  }
  return { value: value / count, scale, shape, weighted: weighted / count, weightedScale: rms / Math.sqrt(count) };
}

/** Σᵢⱼ uᵢ (A B)ᵢⱼ vⱼ = Σₖ (Σᵢ uᵢ Aᵢₖ)(Σⱼ Bₖⱼ vⱼ), without the product, over n². */
function meanOfProduct([a, b], n, ofRows, ofColumns) {
  const columns = new Float64Array(n);
  for (let i = 0; i < a.length; i++) columns[i % n] += ofRows[Math.floor(i / n)] * a[i];
  const rows = new Float64Array(n);
  for (let i = 0; i < b.length; i++) rows[Math.floor(i / n)] += b[i] * ofColumns[i % n];
  return sumOf(columns.map((sum, k) => sum * rows[k])) / (n * n);
}

const product = (n) => ({
  name: 'product of matrices', size: `${n} × ${n}`, inputs: [[n, n], [n, n]], operations: 2 * n ** 3,
  residua: (t, [a, b]) => a.matmul(b), tfjs: (tf, [a, b]) => tf.matMul(a, b), jax: ({ numpy }, [a, b]) => numpy.matmul(a, b),
  expected(inputs) {
    const ones = new Float32Array(n).fill(1);
    const { ofRows, ofColumns } = signs([n, n]);
    // An element is a sum of n products with a variance of 1/144 each.
    const scale = Math.sqrt(n) / 12 / n;
    return { value: meanOfProduct(inputs, n, ones, ones), scale, shape: [n, n], weighted: meanOfProduct(inputs, n, ofRows, ofColumns), weightedScale: scale };
  },
});

/** One operand with rows, and a result of the same size, whose elements have a typical size of `rms`. */
const rowwise = (name, rows, columns, libraries, rms, of) => ({
  name, size: `${rows} × ${columns}`, inputs: [[rows, columns]], bytes: 8 * rows * columns, ...libraries,
  expected: ([x]) => means([rows, columns], 1 / columns, rms, (i) => of(Float64Array.from(x.subarray(i * columns, (i + 1) * columns)))),
});

const reduction = (name, count, libraries, expected) => ({ name, size: count.toLocaleString('en-US'), inputs: [[count]], bytes: 4 * count, ...libraries, expected: ([x]) => expected(x) });

const variance = (x) => {
  const mean = sumOf(x) / x.length;
  return x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
};

const squares = (row) => row.reduce((sum, x) => sum + x * x, 0);

function softmax(row) {
  const e = row.map(Math.exp);
  const sum = sumOf(e);
  return e.map((x) => x / sum);
}

function standardised(row) {
  const mean = sumOf(row) / row.length;
  const factor = 1 / Math.sqrt(variance(row) + 1e-5);
  return row.map((x) => (x - mean) * factor);
}

function overRootMeanSquare(row) {
  const factor = 1 / Math.sqrt(squares(row) / row.length + 1e-5);
  return row.map((x) => x * factor);
}

/** Ten operations an element. */
const chain = (x, { mul, add, sub, abs, sqrt, exp, neg, tanh }) => mul(tanh(add(exp(neg(abs(x()))), sqrt(add(mul(x(), x()), 1)))), sub(x(), 0.25));

/** The works at a fraction of their sizes; 1 is that of the tables, 16 for tests. */
export function works(divisor = 1) {
  const side = Math.max(8, Math.round(4096 / divisor));
  const many = Math.max(1000, Math.round(16_777_216 / divisor ** 2));
  return [
    ...[1024, 2048, 4096].map((n) => product(Math.max(8, Math.round(n / divisor)))),
    rowwise('softmax', side, side, { residua: (t, [x]) => x.softmax(-1), tfjs: (tf, [x]) => tf.softmax(x), jax: ({ nn }, [x]) => nn.softmax(x, -1) }, 1 / side, softmax),
    rowwise('layer norm', side, side, {
      residua: (t, [x]) => t.layerNorm(x, { axes: -1 }),
      tfjs: (tf, [x]) => {
        const { mean, variance: spread } = tf.moments(x, -1, true);
        return tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(spread, 1e-5)));
      },
      jax: ({ nn }, [x]) => nn.standardize(x, -1, { epsilon: 1e-5 }),
    }, 1, standardised),
    rowwise('RMS norm', side, side, {
      residua: (t, [x]) => t.rmsNorm(x, { axes: -1 }),
      tfjs: (tf, [x]) => tf.mul(x, tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), 1e-5))),
      jax: ({ numpy: np }, [x]) => x.ref.div(np.sqrt(np.mean(x.ref.mul(x), -1, { keepdims: true }).add(1e-5))),
    }, 1, overRootMeanSquare),
    {
      name: 'map of ten operations', size: many.toLocaleString('en-US'), inputs: [[many]], bytes: 8 * many,
      residua: (t, [x]) => chain(() => x, { mul: (a, b) => a.mul(b), add: (a, b) => a.add(b), sub: (a, b) => a.sub(b), abs: (a) => a.abs(), sqrt: (a) => a.sqrt(), exp: (a) => a.exp(), neg: (a) => a.neg(), tanh: (a) => a.tanh() }),
      tfjs: (tf, [x]) => chain(() => x, tf),
      jax: ({ numpy: np }, [x]) => {
        const y = chain(() => x.ref, { mul: (a, b) => a.mul(b), add: (a, b) => a.add(b), sub: (a, b) => a.sub(b), abs: np.abs, sqrt: np.sqrt, exp: np.exp, neg: (a) => a.neg(), tanh: np.tanh });
        x.dispose();
        return y;
      },
      expected: ([x]) => {
        const all = { mul: (a, b) => a * b, add: (a, b) => a + b, sub: (a, b) => a - b, abs: Math.abs, sqrt: Math.sqrt, exp: Math.exp, neg: (a) => -a, tanh: Math.tanh };
        return means([many], 1, 1, () => Float64Array.from(x, (value) => chain(() => value, all)));
      },
    },
    reduction('sum', many, { residua: (t, [x]) => x.sum(), tfjs: (tf, [x]) => tf.sum(x), jax: ({ numpy }, [x]) => numpy.sum(x) }, (x) => ({ value: sumOf(x), scale: Math.sqrt(x.length) })),
    reduction('max', many, { residua: (t, [x]) => x.max(), tfjs: (tf, [x]) => tf.max(x), jax: ({ numpy }, [x]) => numpy.max(x) }, (x) => ({ value: x.reduce((a, b) => Math.max(a, b)), scale: 1 })),
    reduction('variance', many, { residua: (t, [x]) => x.variance(), tfjs: (tf, [x]) => tf.moments(x).variance, jax: ({ numpy }, [x]) => numpy.square(numpy.std(x)) }, (x) => ({ value: variance(x), scale: 1 })),
    {
      ...reduction('running sum', many, { residua: (t, [x]) => x.cumsum(), tfjs: (tf, [x]) => tf.cumsum(x), jax: ({ numpy }, [x]) => numpy.cumsum(x) }, (x) => {
        let state = 0;
        return means([many], Math.sqrt(many), Math.sqrt(many), () => Float64Array.from(x, (value) => (state += value)));
      }),
      bytes: 8 * many,
    },
    {
      name: 'a small program', size: '1,000', inputs: [[1000]],
      residua: (t, [x]) => x.mul(2).add(1).square().sum(), tfjs: (tf, [x]) => tf.sum(tf.square(tf.add(tf.mul(x, 2), 1))),
      jax: ({ numpy: np }, [x]) => np.sum(np.square(x.mul(2).add(1))),
      expected: ([x]) => ({ value: x.reduce((sum, value) => sum + (2 * value + 1) ** 2, 0), scale: 1000 }),
    },
  ];
}

/** Numbers in −½ … ½, the same for each library. */
export function numbersOf(count, seed) {
  const next = congruential((seed + 1) * 2654435761);
  return Float32Array.from({ length: count }, () => next() / 2 ** 32 - 0.5);
}
