/** Sorts, largest elements, search in sorted vectors and quantiles, against plain sorting. */
import { arange, dim, grad, Random, spec, where } from 'residua/tensor';
import { congruential } from '../../problems/seeded-noise.js';
import { tensorDevice, compare } from '../tensors/compare.js';
import { rounded } from '../tensors/numbers.js';
import { QUANTILES } from '../tensors/quantiles.js';
import { onEach } from '../define.js';

const SPECIAL = [0, -0, NaN, Infinity, -Infinity, 1.5, -1.5];

/** Numbers of which many are equal, the same in every run; of floats some are special. */
function numbers(count, dtype) {
  const next = congruential(2026);
  return Array.from({ length: count }, () => {
    const bits = next() >>> 8;
    switch (dtype) {
      case 'f32': case 'f16': return bits % 5 === 0 ? SPECIAL[(bits >> 4) % SPECIAL.length] : rounded(dtype, (bits % 301) / 16 - 9);
      case 'u8': return bits % 256;
      case 'bool': return (bits >> 3) % 2;
      default: return rounded(dtype, bits % 3 === 0 ? (bits % 7) - (dtype === 'i32' ? 3 : 0) : Math.imul(bits, 0x9e3779b1));
    }
  });
}

/** The places of a row in order: a NaN is last, equal numbers keep their order. */
function order(row, isDescending = false) {
  return Array.from(row.keys()).sort((a, b) => {
    const [x, y] = [row[a], row[b]];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || a - b;
    return (isDescending ? y - x : x - y) || a - b;
  });
}

const rowsOf = (values, length) => Array.from({ length: length === 0 ? 0 : values.length / length }, (_, row) => values.slice(row * length, (row + 1) * length));

/** Sorts rows, and takes the first `kept` of each where that is told. */
async function sortRows(check, device, dtype, rows, length, { descending = false, kept = 0 } = {}) {
  const values = numbers(rows * length, dtype);
  const x = device.tensor(values, [rows, length], dtype);
  const what = `${rows} rows of ${length} numbers of ${dtype}`;
  const expected = rowsOf(values, length).map((row) => order(row, descending).map((place) => [place, row[place]]));
  const flat = (count, part) => expected.flatMap((row) => row.slice(0, count).map((pair) => pair[part]));
  const [places, sorted] = await device.read(x.argsort(1, { descending }), x.sort(1, { descending }));
  check.same([...places], flat(length, 0), `places of ${what}`);
  check.same([...sorted], flat(length, 1), what);
  if (kept > 0) {
    const top = x.topk(kept, 1, { smallest: !descending });
    const [indices, extremes] = await device.read(top.indices, top.values);
    check.same([...indices], flat(kept, 0), `places of the first ${kept} of ${what}`);
    check.same([...extremes], flat(kept, 1), `the first ${kept} of ${what}`);
  }
  x.dispose();
}

const long = { long: true };

export const group = {
  id: 'tensor-sort',
  title: 'Tensors: sorting and selection',
  about: 'Sorts are stable and put NaN last, whatever the type, the length and the axis; quantiles are those of NumPy.',
  checks: [
    ...onEach('rows of f32 are sorted in both directions, equal numbers in their order and NaN last', async (check) => {
      const device = await tensorDevice(check);
      for (const descending of [false, true]) await sortRows(check, device, 'f32', 3, 60, { descending, kept: 5 });
    }),

    ...['f16', 'i32', 'u32', 'u8', 'bool'].flatMap((dtype, k) =>
      onEach(`rows of ${dtype} are sorted, equal elements in their order`, async (check) => {
        const device = await tensorDevice(check);
        await sortRows(check, device, dtype, 3, 60, { descending: k % 2 === 0 });
      })),

    ...onEach('rows of no element, of one and of two are sorted', async (check) => {
      const device = await tensorDevice(check);
      for (const length of [1, 2]) await sortRows(check, device, 'f32', 4, length);
      const none = device.zeros([2, 0]);
      check.same((await device.read(none.sort(), none.argsort(), none.topk(0).values)).map((read) => read.length), [0, 0, 0]);
    }),

    ...onEach('rows about as long as a workgroup takes are sorted', async (check) => {
      const device = await tensorDevice(check);
      for (const length of [2047, 2048, 2049]) await sortRows(check, device, 'f32', 2, length, { kept: 40 });
    }, long),

    ...onEach('a long vector is sorted, and its largest are found', async (check) => {
      const device = await tensorDevice(check);
      for (const descending of [false, true]) await sortRows(check, device, 'f32', 1, 100_003, { descending, kept: 40 });
      await sortRows(check, device, 'u8', 1, 100_003, { kept: 1000 });
    }, long),

    ...onEach('a sort of several blocks is that of plain sorting', async (check) => {
      const device = await tensorDevice(check);
      const values = numbers(2 * 4100, 'u8');
      const places = await device.tensor(values, [2, 4100], 'u8').argsort().data();
      check.same([...places], rowsOf(values, 4100).flatMap((row) => order(row)));
    }),

    ...onEach('the largest of a vector of several blocks are found', async (check) => {
      const device = await tensorDevice(check);
      const values = numbers(5000, 'f32');
      const { values: top, indices } = device.tensor(values).topk(30);
      const [found, places] = await device.read(top, indices);
      const expected = order(values, true).slice(0, 30);
      check.same([...places], expected);
      check.same([...found], expected.map((place) => values[place]));
    }),

    ...onEach('an axis that is not the last is sorted', async (check) => {
      const device = await tensorDevice(check);
      const values = numbers(3 * 7 * 4, 'i32');
      const x = device.tensor(values, [3, 7, 4], 'i32');
      const [sorted, places] = await device.read(x.sort(1), x.topk(2, 0, { smallest: true }).indices);
      const column = (length, first, step) => Array.from({ length }, (_, k) => values[first + k * step]);
      const expected = Array.from({ length: 84 }, (_, i) => {
        const [a, b, c] = [Math.floor(i / 28), Math.floor(i / 4) % 7, i % 4];
        const row = column(7, 28 * a + c, 4);
        return row[order(row)[b]];
      });
      check.same([...sorted], expected, 'along axis 1');
      check.same([...places], Array.from({ length: 56 }, (_, i) => order(column(3, i % 28, 28))[Math.floor(i / 28)]), 'along axis 0');
    }),

    ...onEach('a program sorts as many elements as each run has', async (check) => {
      const device = await tensorDevice(check);
      const n = dim('n', 300);
      const program = await device.compile({ x: spec('f32', [n]) }, ({ x }) => ({ sorted: x.sort(), places: x.argsort(0, { descending: true }), middle: x.median() }));
      for (const count of [0, 1, 2, 64, 300]) {
        const values = numbers(count, 'f32').map((value) => (Number.isNaN(value) ? 7 : value));
        const run = program.run({ x: values }, { n: count });
        const [sorted, places, middle] = await device.read(run.sorted, run.places, run.middle);
        check.same([...sorted], order(values).map((place) => values[place]), `${count} elements`);
        check.same([...places], order(values, true), `places of ${count} elements`);
        if (count === 0) check.ok(Number.isNaN(middle[0]), 'the median of nothing is NaN');
        if (count === 1) check.equal(middle[0], values[0], 'the median of one number');
      }
    }),

    ...onEach('searchSorted finds where numbers would be inserted', async (check) => {
      const device = await tensorDevice(check);
      const sorted = numbers(100, 'f32').sort((a, b) => (Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(a)) - Number(Number.isNaN(b)) : a - b));
      const wanted = [...numbers(60, 'f32'), -1000, 1000, NaN];
      const isBefore = (a, b) => (Number.isNaN(b) ? !Number.isNaN(a) : a < b);
      const x = device.tensor(sorted);
      const [left, right] = await device.read(x.searchSorted(device.tensor(wanted)), x.searchSorted(device.tensor(wanted), 'right'));
      check.same([...left], wanted.map((each) => sorted.filter((other) => isBefore(other, each)).length), 'on the left of equals');
      check.same([...right], wanted.map((each) => sorted.filter((other) => !isBefore(each, other)).length), 'on the right of equals');
    }),

    ...onEach('quantiles beside infinities are numbers', async (check) => {
      const device = await tensorDevice(check);
      const n = dim('n', 4);
      const program = await device.compile({ x: spec('f32', [n]) }, ({ x }) => x.median());
      check.defer(() => program.dispose());
      for (const [values, expected] of [[[1, 2, Infinity], 2], [[Infinity], Infinity], [[Infinity, Infinity], Infinity], [[-Infinity, -Infinity, 0, 1], -Infinity]]) {
        const [known, told] = [await device.tensor(values).median().item(), await program.run({ x: values }, { n: values.length }).item()];
        check.same([known, told], [expected, expected], `the median of ${values}`);
      }
    }),

    ...onEach('quantiles and medians are those of NumPy', async (check) => {
      const device = await tensorDevice(check);
      const cases = QUANTILES.flatMap(({ shape, axis, q, values, quantile, median }, k) => {
        const x = device.tensor(values, shape);
        const along = axis ?? undefined;
        const bound = { allowed: 4, because: 'a difference, a product and a sum are rounded', floor: 1 };
        return [
          { name: `quantiles of case ${k}`, tensor: x.quantile(q, along), array: quantile, ...bound },
          { name: `median of case ${k}`, tensor: x.median(along), array: median, ...bound },
        ];
      });
      return compare(check, device, 'f32', cases);
    }),

    ...onEach('gradients of sorts go back to where the elements were', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([[3, 1, 2, 1], [0, -1, 5, 5]]);
      const weights = arange(4).add(1);
      const [ofSort] = grad(x.sort().mul(weights).sum(), [x]);
      const [ofTop] = grad(x.topk(2).values.mul(x.topk(2).values).sum(), [x]);
      const [ofMedian] = grad(x.median(1).sum(), [x]);
      check.same(await ofSort.toArray(), [[4, 1, 3, 2], [2, 1, 3, 4]], 'sort');
      check.same(await ofTop.toArray(), [[6, 0, 4, 0], [0, 0, 10, 10]], 'topk');
      check.same(await ofMedian.toArray(), [[0, 0, 0.5, 0.5], [0.5, 0, 0.5, 0]], 'median');
    }),

    ...onEach('a token is drawn from the most likely logits by few kernels', async (check) => {
      const device = await tensorDevice(check);
      const random = new Random(5);
      const values = Float32Array.from({ length: 3000 }, (_, k) => 5 * Math.sin(k * k));
      const logits = device.tensor(values);
      const program = await device.compile({}, () => {
        const { values, indices } = logits.div(0.7).topk(40);
        const isKept = values.softmax().cumsum(-1, { exclusive: true }).lt(0.25);
        return indices.indexSelect(random.categorical(where(isKept, values, -Infinity)).expandDims(0));
      });
      const likely = order([...values], true).slice(0, 40);
      const shares = likely.map((place) => Math.exp((values[place] - values[likely[0]]) / 0.7));
      const total = shares.reduce((sum, share) => sum + share);
      // Those before which less than a quarter of the probability stands, about ten; one more where rounding decides.
      const kept = likely.filter((_, k) => shares.slice(0, k).reduce((sum, share) => sum + share, 0) / total < 0.25 + 1e-5);
      const tokens = [];
      for (let run = 0; run < 8; run++) tokens.push((await program.run().data())[0]);
      check.ok(tokens.every((token) => kept.includes(token)), `the tokens ${tokens} are among the ${kept.length} most likely ones`);
      check.ok(new Set(tokens).size > 1, `draws differ: ${tokens}`);
      check.ok(program.plan.dispatches <= 6, `${program.plan.dispatches} dispatches a run`);
    }),

    ...onEach('a sort gives the same bits each time', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor(numbers(4500, 'f32'));
      const program = await device.compile({}, () => x.topk(200));
      const read = async () => {
        const { values, indices } = program.run();
        return device.read(values.bitcast('u32'), indices);
      };
      const first = await read();
      for (let run = 0; run < 3; run++) check.same(await read(), first, `run ${run}`);
    }),
  ],
};
