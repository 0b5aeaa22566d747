/** Attention: sizes of heads, ways in which queries see keys, views, sizes that change from run to run, derivatives. */
import { attention, dim, grad } from 'residua/tensor';
import { attentionOf, factorsOf, FORMS, numbersOf, SIZES } from '../tensors/attention.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { unitOf } from '../tensors/numbers.js';
import { onEach } from '../define.js';

const BECAUSE = 'roundings of scores move weights, and each weighted value is rounded';

/** Those of the quick checks: each is a kernel, which software devices compile in seconds. */
const FEW_FORMS = ['f16', 'a window and many queries', 'bools for each head', 'terms', 'no keys'];

/** A result beside what it should be, for compare(). */
function beside(name, tensor, { shape, values, magnitudes }) {
  return { name, tensor, array: { shape, values }, allowed: (i) => Math.max(1, (magnitudes[i] * 2 ** -24) / unitOf('f32', values[i])), because: BECAUSE };
}

const tensorOf = (device, { shape, values, dtype }) => device.tensor(values, shape, dtype);

/** A case by its name, on a device. */
function caseOf(device, { name, options = {}, ...about }) {
  const factors = factorsOf(about);
  const given = options.mask === undefined ? options : { ...options, mask: tensorOf(device, options.mask) };
  return beside(name, attention(...factors.map((each) => tensorOf(device, each)), given), attentionOf(...factors, options));
}

async function checkCases(check, cases) {
  const device = await tensorDevice(check);
  check.note(`${(await compare(check, device, 'f32', cases.map((each) => caseOf(device, each)))).toFixed(1)} ulp`);
}

export const group = {
  id: 'tensor-attention',
  title: 'Tensors: attention',
  about: 'Attention with a few and with many queries, against double precision; views of caches, sizes that change, derivatives.',
  checks: [
    ...onEach('attention agrees with double precision for a few ways of seeing keys', (check) => checkCases(check, FORMS.filter(({ name }) => FEW_FORMS.includes(name)))),
    ...onEach('attention agrees with double precision for every way of seeing keys', (check) => checkCases(check, FORMS), { long: true }),
    ...onEach('attention agrees with double precision for heads of 32 to 128 numbers', (check) => checkCases(check, SIZES), { long: true }),
    ...onEach('attention agrees with double precision for heads of 64 numbers', (check) => checkCases(check, SIZES.slice(2, 4))),

    ...onEach('attention reads permuted tensors and parts of one tensor in place', async (check) => {
      const device = await tensorDevice(check);
      const cases = [];
      for (const tokens of [3, 70]) {
        const packed = numbersOf([tokens, 3, 2, 16], tokens);
        const part = (place) => {
          const values = [];
          for (let head = 0; head < 2; head++) for (let token = 0; token < tokens; token++) for (let c = 0; c < 16; c++) values.push(packed.values[((token * 3 + place) * 2 + head) * 16 + c]);
          return { shape: [2, tokens, 16], values };
        };
        const all = tensorOf(device, packed);
        const [q, k, v] = [0, 1, 2].map((place) => all.pick(1, place).permute([1, 0, 2]));
        cases.push(beside(`${tokens} tokens`, attention(q, k, v, { causal: true }), attentionOf(part(0), part(1), part(2), { causal: true })));
      }
      await compare(check, device, 'f32', cases);
    }),

    ...onEach('attention of a program takes other numbers of tokens without a new kernel or memory', async (check) => {
      const device = await tensorDevice(check);
      const [m, n] = [dim('m', 40), dim('n', 200)];
      const about = { heads: [4, 2], tokens: [40, 200], sizes: [16, 16], dtype: 'f16' };
      const factors = factorsOf(about);
      const [q, k, v] = factors.map((each) => tensorOf(device, each));
      const part = (x, size) => x.slice(null, [0, size]);
      const program = await device.compile({}, () => attention(part(q, m), part(k, n), part(v, n), { causal: true }));
      const before = device.stats();
      const cut = ({ shape: [heads, tokens, size], values }, count) => {
        const rows = Array.from({ length: heads }, (_, head) => values.slice(head * tokens * size, (head * tokens + count) * size));
        return { shape: [heads, count, size], values: rows.flat() };
      };
      for (const [queries, keys] of [[1, 1], [1, 130], [8, 200], [9, 9], [40, 160], [0, 5], [3, 0]]) {
        const result = program.run({}, { m: queries, n: keys });
        const expected = attentionOf(cut(factors[0], queries), cut(factors[1], keys), cut(factors[2], keys), { causal: true });
        await compare(check, device, 'f32', [beside(`${queries} queries and ${keys} keys`, result, expected)]);
      }
      const after = device.stats();
      check.equal(after.pipelines, before.pipelines, 'the number of pipelines');
      check.equal(after.programBytes, before.programBytes, 'the memory of programs');
    }),

    ...onEach('attention gives the same bits twice', async (check) => {
      const device = await tensorDevice(check);
      for (const tokens of [[2, 300], [80, 80]]) {
        const [q, k, v] = factorsOf({ heads: [2, 2], tokens, sizes: [16, 16] }).map((each) => tensorOf(device, each));
        const program = await device.compile({}, () => attention(q, k, v));
        const first = await program.run().data();
        const second = await program.run().data();
        check.same([...new Uint32Array(second.buffer)], [...new Uint32Array(first.buffer)], `the bits for ${tokens[0]} queries`);
      }
    }),

    ...onEach('attention has the derivatives of central differences', async (check) => {
      const device = await tensorDevice(check);
      const options = { causal: true, softcap: 1.5 };
      const factors = factorsOf({ heads: [2, 1], tokens: [3, 5], sizes: [4, 4] });
      const weights = numbersOf([2, 3, 4], 9);
      const tensors = factors.map((each) => tensorOf(device, each));
      const loss = attention(...tensors, options).mul(tensorOf(device, weights)).sum();
      const slopes = await device.read(...grad(loss, tensors));
      const lossOf = (given) => attentionOf(...given, options).values.reduce((sum, value, i) => sum + value * weights.values[i], 0);
      factors.forEach((factor, place) => {
        for (let i = 0; i < factor.values.length; i += 3) {
          const at = (step) => lossOf(factors.map((each) => (each === factor ? { ...each, values: each.values.map((value, k) => (k === i ? value + step : value)) } : each)));
          const expected = (at(1e-4) - at(-1e-4)) / 2e-4;
          check.close(slopes[place][i], expected, { within: 2e-5, because: 'some hundred roundings of numbers below 1 in f32, and differences off by 1e-8' }, `the derivative by element ${i} of operand ${place}`);
        }
      });
    }),
  ],
};
