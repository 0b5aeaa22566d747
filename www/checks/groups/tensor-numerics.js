/** What tensors promise of numbers: infinities and NaN as computed, the order of operations, digits of variances and of long products, slopes at singular points. */
import { batchNorm, crossEntropy, fold, full, grad, groupNorm, layerNorm, scan } from 'residua/tensor';
import { relativeDifference } from '../assertions.js';
import { onEach } from '../define.js';
import { tensorDevice } from '../tensors/compare.js';

const [NAN, INF, NOTHING] = [Number.NaN, Infinity, 0];
const X = [NAN, INF, -INF, 1, 0, -2, 1e30];
const Y = [1, INF, 3, 0, 0, 4, 1e30];
const f32 = Math.fround;

/** Functions of two tensors and of two numbers. A compiler that computes in a field would give something else. */
const PROMISES = [
  ['x · 0', (x) => x.mul(0), (x) => x * NOTHING],
  ['x − x', (x) => x.sub(x), (x) => x - x],
  ['x + (−x)', (x) => x.add(x.neg()), (x) => x - x],
  ['x / x', (x) => x.div(x), (x) => x / x],
  ['0 / x', (x) => full([], 0).div(x), (x) => NOTHING / x],
  ['(x + y) − y', (x, y) => x.add(y).sub(y), (x, y) => f32(f32(x + y) - y)],
  ['(x + y) − x', (x, y) => x.add(y).sub(x), (x, y) => f32(f32(x + y) - x)],
  ['x − (x − y)', (x, y) => x.sub(x.sub(y)), (x, y) => f32(x - f32(x - y))],
  ['(x + 1e8) − 1e8', (x) => x.add(1e8).sub(1e8), (x) => f32(f32(x + 1e8) - 1e8)],
  ['(x · y) / y', (x, y) => x.mul(y).div(y), (x, y) => f32(f32(x * y) / y)],
  ['(x / y) · y', (x, y) => x.div(y).mul(y), (x, y) => f32(f32(x / y) * y)],
  ['(x · 1e30) · 1e-30', (x) => x.mul(1e30).mul(1e-30), (x) => f32(f32(x * f32(1e30)) * f32(1e-30))],
  ['1 / (1 / x)', (x) => x.reciprocal().reciprocal(), (x) => f32(1 / f32(1 / x))],
  ['x · y − x · 3', (x, y) => x.mul(y).sub(x.mul(3)), (x, y) => f32(f32(x * y) - f32(x * 3))],
  ['|x|', (x) => x.abs(), Math.abs],
];

const near = (got, expected) => (Object.is(got, expected) || got === expected || Math.abs(got - expected) <= 3 * 2 ** -23 * Math.abs(expected));

const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
const variance = (list) => {
  const middle = mean(list);
  return mean(list.map((x) => (x - middle) ** 2));
};
const standardised = (list, epsilon) => {
  const [middle, deviation] = [mean(list), Math.sqrt(variance(list) + epsilon)];
  return list.map((x) => (x - middle) / deviation);
};
/** Numbers around an offset, as single precision has them. */
const around = (offset, spread, count) => Array.from({ length: count }, (_, i) => f32(offset + spread * (((i * 0.754877666) % 1) * 2 - 1)));
const rowsOf = (values, length) => Array.from({ length: values.length / length }, (_, i) => values.slice(i * length, (i + 1) * length));
const columnsOf = (values, width) => Array.from({ length: width }, (_, j) => values.filter((_, i) => i % width === j));

const FAR = [[1e4, 0.01], [1e8, 40], [-3e5, 0.5], [0, 1]];
/** As two passes in single precision: roundings of differences and of sums of squares. */
const TWO_PASSES = { within: 1e-5, because: 'two passes in single precision are that near' };

export const group = {
  id: 'tensor-numerics',
  title: 'Tensors: digits, infinities and NaN',
  about: 'The order of operations, variances of numbers with an offset, long products, slopes at singular points.',
  checks: [
    ...onEach('operations are computed in their order, and infinities and NaN pass', async (check) => {
      const device = await tensorDevice(check);
      const [x, y] = [device.tensor(X), device.tensor(Y)];
      // Backwards, each element is read by itself; the repeated ones in fours.
      const ways = [(t) => t, (t) => t.flip().flip(), (t) => t.tile([4])];
      for (const [name, apply, value] of PROMISES) {
        const expected = X.map((number, i) => value(f32(number), f32(Y[i])));
        for (const way of ways) {
          const of = apply(way(x), way(y));
          const [got, isNaN, isFinite, isInfinite] = await device.read(of, of.isNaN(), of.isFinite(), of.isInfinite());
          got.forEach((number, i) => {
            const wanted = expected[i % X.length];
            const at = `${name} of ${X[i % X.length]} and ${Y[i % X.length]}`;
            check.ok(near(number, wanted), `${at}: ${number}, not ${wanted}`);
            check.same([isNaN[i], isFinite[i], isInfinite[i]], [Number.isNaN(wanted), Number.isFinite(wanted), Math.abs(wanted) === INF].map(Number), `isNaN, isFinite and isInfinite: ${at}`);
          });
        }
      }
    }),

    ...onEach('rules of folds and scans are computed in their order', async (check) => {
      const device = await tensorDevice(check);
      const values = Array.from({ length: 400 }, (_, i) => (i % 100 === 0 ? 1e8 : i % 100 === 99 ? -1e8 : 1));
      // A sum and what its roundings lost (Knuth), which an algebra without rounding would find to be 0.
      const rule = {
        identity: [0, 0],
        lift: (a) => [a, 0],
        merge: ([s, e], [t, f]) => {
          const sum = s.add(t);
          const part = sum.sub(s);
          return [sum, e.add(f).add(s.sub(sum.sub(part)).add(t.sub(part)))];
        },
        finish: ([s, e]) => s.add(e),
      };
      const x = device.tensor(values);
      const [total, last] = await device.read(fold(x, 0, rule), scan(x, 0, rule).slice([399]));
      check.same([total[0], last[0]], [392, 392]);
    }),

    ...onEach('isNaN, isFinite and isInfinite of given numbers, of one type and of the other', async (check) => {
      const device = await tensorDevice(check);
      for (const dtype of ['f32', 'f16']) {
        const x = device.tensor([NAN, INF, -INF, 1, 0, -2], [6], dtype);
        const [isNaN, isFinite, isInfinite] = await device.read(x.isNaN(), x.isFinite(), x.isInfinite());
        check.same([[...isNaN], [...isFinite], [...isInfinite]], [[1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 0, 0]]);
      }
    }),

    ...onEach('sorts and places of extremes have the order of comparisons, of subnormal numbers too', async (check) => {
      const device = await tensorDevice(check);
      const values = [2e-40, 0, 1e-40, -0, -1e-40, 3e-40, -2e-40, 1];
      const x = device.tensor(values);
      const n = values.length;
      const [less] = await device.read(x.reshape([n, 1]).lt(x.reshape([1, n])));
      const isLess = (i, j) => less[i * n + j] === 1;
      const order = values.map((_, i) => i).sort((i, j) => (isLess(i, j) ? -1 : isLess(j, i) ? 1 : i - j));
      const reversed = values.map((_, i) => i).sort((i, j) => (isLess(j, i) ? -1 : isLess(i, j) ? 1 : i - j));
      const small = x.slice([0, n - 1]);
      const [ascending, descending, least, most] = await device.read(x.argsort(), x.argsort(0, { descending: true }), x.argmin(), small.argmax());
      check.same([...ascending], order, 'the ascending order');
      check.same([...descending], reversed, 'the descending order');
      check.same([least[0], most[0]], [order[0], reversed.filter((place) => place !== n - 1)[0]], 'argmin and argmax');
    }),

    ...onEach('variances of numbers with an offset are those of two passes', async (check) => {
      const device = await tensorDevice(check);
      let worst = 0;
      for (const [offset, spread] of FAR) {
        const values = around(offset, spread, 12_000);
        const flat = device.tensor(values);
        const [x, images] = [flat.reshape([40, 300]), flat.reshape([4, 5, 600])];
        const doubled = values.map((v) => f32(v * 2));
        const blocks = Array.from({ length: 5 }, (_, channel) => values.filter((_, i) => Math.floor(i / 600) % 5 === channel));
        const [all, rows, columns, channels, mapped, deviation] = await device.read(
          x.variance(), x.variance(1), x.variance(0), images.variance([0, 2]), x.mul(2).variance(1), x.std(0, { correction: 1 }));
        for (const [got, lists, root] of [
          [all, [values]], [rows, rowsOf(values, 300)], [columns, columnsOf(values, 300)], [channels, blocks], [mapped, rowsOf(doubled, 300)],
          [deviation, columnsOf(values, 300), true],
        ]) {
          lists.forEach((list, i) => {
            const exact = root ? Math.sqrt(variance(list) * list.length / (list.length - 1)) : variance(list);
            const error = Math.abs(got[i] / exact - 1);
            worst = Math.max(worst, error);
            check.close(error, 0, TWO_PASSES, `${offset} ± ${spread}`);
          });
        }
      }
      check.note(worst.toExponential(1));
    }),

    ...onEach('variances of one million numbers, and of three near 1e8', async (check) => {
      const device = await tensorDevice(check);
      const values = Float32Array.from(around(1e4, 0.01, 1_000_003));
      check.close((await device.tensor(values).variance().item()) / variance([...values]), 1, TWO_PASSES);
      check.close(await device.tensor([1e8, 1e8 + 8, 1e8 + 16]).variance().item(), 128 / 3, { within: 1e-4, because: 'a few roundings' });
    }),

    ...onEach('normalisations of numbers with an offset keep their digits', async (check) => {
      const device = await tensorDevice(check);
      for (const [offset, spread] of FAR) {
        const epsilon = spread ** 2 * 1e-3;
        const values = around(offset, spread, 2 * 4 * 30);
        const x = device.tensor(values, [2, 4, 30]);
        const batch = batchNorm(x, { epsilon });
        const read = await device.read(layerNorm(x, { epsilon }), layerNorm(x, { axes: [1, 2], epsilon }), groupNorm(x, 2, { epsilon }), batch.y, batch.mean, batch.variance);
        const [rows, layers, groups, normal, means, variances] = read.map((numbers) => [...numbers]);
        const of = (length) => rowsOf(values, length).flatMap((list) => standardised(list, epsilon));
        const channels = [0, 1, 2, 3].map((channel) => values.filter((_, i) => Math.floor(i / 30) % 4 === channel));
        const inChannels = channels.map((list) => standardised(list, epsilon));
        const expected = values.map((_, i) => inChannels[Math.floor(i / 30) % 4][i % 30 + (i >= 120 ? 30 : 0)]);
        for (const [got, exact, name] of [
          [rows, of(30), 'layerNorm'], [layers, of(120), 'layerNorm of two axes'], [groups, of(60), 'groupNorm'], [normal, expected, 'batchNorm'],
          [variances, channels.map(variance), 'the variance of batchNorm'],
        ]) check.close(relativeDifference(got, exact), 0, TWO_PASSES, `${name}, ${offset} ± ${spread}`);
        check.close(relativeDifference(means, channels.map(mean)), 0, { within: 3 * 2 ** -23, because: 'a sum is rounded once, and a quotient of WGSL is within 2.5 units' }, 'the mean of batchNorm');
      }
    }),

    ...onEach('slopes of variances and norms of numbers with an offset keep their digits', async (check) => {
      const device = await tensorDevice(check);
      for (const [offset, spread] of FAR) {
        const values = around(offset, spread, 3 * 40);
        const x = device.tensor(values, [3, 40]);
        const factors = Array.from({ length: 120 }, (_, i) => Math.cos(i));
        const epsilon = spread ** 2;
        const [slope] = grad(x.variance(1).sum(), [x]);
        const [normed] = grad(layerNorm(x, { epsilon }).mul(device.tensor(factors, [3, 40])).sum(), [x]);
        const [of, ofNorm] = await device.read(slope, normed);
        const rows = rowsOf(values, 40);
        const exact = rows.flatMap((list) => {
          const middle = mean(list);
          return list.map((v) => 2 * (v - middle) / 40);
        });
        // With y = (x − mean)/s: (g − mean g − y · mean(g · y)) / s, since s² has ε.
        const exactNorm = rows.flatMap((list, row) => {
          const [y, g] = [standardised(list, epsilon), factors.slice(row * 40, row * 40 + 40)];
          const [middle, along, s] = [mean(g), mean(g.map((v, i) => v * y[i])), Math.sqrt(variance(list) + epsilon)];
          return g.map((v, i) => (v - middle - y[i] * along) / s);
        });
        check.close(relativeDifference([...of], exact), 0, TWO_PASSES, `variance, ${offset} ± ${spread}`);
        check.close(relativeDifference([...ofNorm], exactNorm), 0, TWO_PASSES, `layerNorm, ${offset} ± ${spread}`);
      }
    }),

    ...onEach('slopes of std, norm and logSumExp at singular points are 0', async (check) => {
      const device = await tensorDevice(check);
      const equal = device.tensor([3, 3, 3, 3, 1, 2, 3, 4], [2, 4]);
      const zeros = device.tensor([0, 0, 0, 0, 3, 4, 0, 0], [2, 4]);
      const nothing = device.tensor([-INF, -INF, -INF, -INF, 0, -INF, 0, 0], [2, 4]);
      const results = [equal.std(1), equal.std(1, { correction: 1 }), zeros.norm(1), nothing.logSumExp(1)];
      const slopes = [equal, equal, zeros, nothing].map((x, k) => grad(results[k].sum(), [x])[0]);
      const read = (await device.read(...slopes)).map((numbers) => [...numbers]);
      const ofStd = (count) => [1, 2, 3, 4].map((v) => (v - 2.5) / count / Math.sqrt(5 / count));
      [[0, 0, 0, 0, ...ofStd(4)], [0, 0, 0, 0, ...ofStd(3)], [0, 0, 0, 0, 0.6, 0.8, 0, 0], [0, 0, 0, 0, 1 / 3, 0, 1 / 3, 1 / 3]]
        .forEach((exact, k) => check.close(relativeDifference(read[k].map((v) => v + 0), exact), 0, { within: 1e-6, because: 'a few roundings' }));
    }),

    ...onEach('a label that is no class gives NaN', async (check) => {
      const device = await tensorDevice(check);
      const logits = device.tensor([1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3], [5, 3]);
      const losses = [0, 1, 2].map((k) => Math.log(1 + Math.exp(1) + Math.exp(2)) - k);
      const labels = device.tensor([0, -1, 3, 2, -100], [5], 'i32');
      const loss = crossEntropy(logits, labels);
      const [got, slope] = await device.read(loss, grad(loss.sum(), [logits])[0]);
      check.same([...got].map(Number.isNaN), [false, true, true, false, true]);
      check.close(Math.hypot(got[0] - losses[0], got[3] - losses[2]), 0, { within: 1e-6, because: 'a few roundings' });
      check.same([...slope.slice(3, 9), ...slope.slice(12)], Array.from({ length: 9 }, () => 0));
      const unsigned = await crossEntropy(logits, device.tensor([0, 1, 2, 3, 4294967295], [5], 'u32')).data();
      check.same([...unsigned].map(Number.isNaN), [false, false, false, true, true]);
    }),

    ...onEach('products of a million factors lose no digits', async (check) => {
      const device = await tensorDevice(check);
      const count = 1_000_000;
      for (const factor of [f32(1.000_01), f32(0.999_99)]) {
        const x = full([count], factor);
        const [products, whole, swinging] = await device.read(x.cumprod(), x.prod(), device.tensor(Float32Array.from({ length: count }, (_, i) => (i % 2 === 0 ? factor : f32(1 / factor)))).cumprod());
        let [exact, other, worst] = [1, 1, 0];
        for (let i = 0; i < count; i++) {
          exact *= factor;
          other *= i % 2 === 0 ? factor : f32(1 / factor);
          worst = Math.max(worst, Math.abs(products[i] / exact - 1), Math.abs(swinging[i] / other - 1));
        }
        check.note(worst.toExponential(1));
        check.close(worst, 0, { within: 2 ** -22, because: 'a product is kept with its error: roundings of the result, two units' });
        check.close(whole[0] / exact, 1, { within: 2 ** -22, because: 'a product is kept with its error' });
      }
    }),
  ],
};
