/** Compiled programs: inputs, sizes told at each run, assignments, derivatives, memory, and what is refused. */
import { Device, Random, crossEntropy, dim, fold, grad, map, scalar, scan, spec, zeros } from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { fill } from '../tensors/numbers.js';
import { OPERATIONS } from '../op-table.js';
import { gpuAgainstCpu, onEach } from '../define.js';
import { V } from 'residua';

const list = async (tensor) => [...(await tensor.data())];
const program = async (check, device, ...args) => {
  const compiled = await device.compile(...args);
  check.defer(() => compiled.dispose());
  return compiled;
};

/** Scalar functions with their derivative by each operand, of one formula: [name, recipe of tensors, derivatives by numbers]. */
const GRADIENTS = [
  ['sums of products', (a, b) => a.mul(b).sum(), (a, b) => [b, a]],
  ['means', (a, b) => a.mul(b).mean(), (a, b) => [b.map((x) => x / 6), a.map((x) => x / 6)]],
  ['quotients', (a, b) => a.div(b).sum(), (a, b) => [b.map((x) => 1 / x), a.map((x, i) => -x / b[i] ** 2)]],
  ['views', (a, b) => a.reshape([2, 3]).T.flip(0).mul(b.reshape([3, 2])).sum(), (a, b) => [[4, 2, 0, 5, 3, 1].map((i) => b[i]), [2, 5, 1, 4, 0, 3].map((i) => a[i])]],
  ['slices and pads', (a, b) => a.slice([1, 4]).pad([[1, 2]]).mul(b).sum(), (a, b) => [[0, b[1], b[2], b[3], 0, 0], [0, a[1], a[2], a[3], 0, 0]]],
  ['a maximum', (a, b) => a.max().mul(b.min()), (a, b) => {
    const [large, small] = [Math.max(...a), Math.min(...b)];
    return [a.map((x) => (x === large ? small : 0)), b.map((x) => (x === small ? large : 0))];
  }],
  ['running sums', (a, b) => a.cumsum().mul(b).sum(), (a, b) => [b.map((_, i) => b.slice(i).reduce((x, y) => x + y)), a.map((_, i) => a.slice(0, i + 1).reduce((x, y) => x + y))]],
  ['products of matrices', (a, b) => a.reshape([2, 3]).matmul(b.reshape([3, 2])).sum(), (a, b) => [[0, 1, 2, 0, 1, 2].map((k) => b[2 * k] + b[2 * k + 1]), [0, 0, 1, 1, 2, 2].map((k) => a[k] + a[3 + k])]],
  ['what does not pass', (a, b) => a.mul(b.stopGradient()).sum(), (a, b) => [b, b.map(() => 0)]],
];

export const group = {
  id: 'tensor-programs',
  title: 'Tensors: programs and derivatives',
  about: 'Compiled once and run often: sizes that change, assignments in place, derivatives, memory that does not grow, errors that name what was wrong.',
  checks: [
    ...onEach('a program takes inputs as numbers and as tensors, and writes over its outputs', async (check) => {
      const device = await tensorDevice(check);
      const p = await program(check, device, { x: spec('f32', [3]), rate: scalar }, ({ x, rate }) => ({ scaled: x.mul(rate), sum: x.sum() }));
      const first = p.run({ x: [1, 2, 3], rate: 2 });
      check.same([await list(first.scaled), await list(first.sum)], [[2, 4, 6], [6]]);
      p.run({ x: device.tensor([4, 5, 6]), rate: 0.5 });
      check.same(await list(p.outputs.scaled), [2, 2.5, 3]);
      check.ok(p.plan.dispatches >= 1 && p.plan.toString() !== '', `the plan has ${p.plan.dispatches} dispatches`);
      if (check.backend === 'gpu') check.ok(p.kernels().every(({ name, wgsl }) => name !== '' && wgsl.includes('@compute')), 'kernels have names and texts');
    }),

    ...onEach('after a run that was refused an input has what the next run gives', async (check) => {
      const device = await tensorDevice(check);
      const p = await program(check, device, { n: spec('i32', [1]), y: spec('f32', [2]) }, ({ n, y }) => ({ next: n.add(1), y: y.mul(2) }));
      const { next } = p.run({ n: [5], y: [1, 2] });
      check.same(await list(p.run({ n: next, y: [1, 2] }).next), [7]);
      const refused = await check.failure(async () => p.run({ n: [0], y: [1] }));
      check.equal(refused?.code, 'invalid-argument');
      // All bits differ from those of the run that was refused.
      check.same(await list(p.run({ n: [-1], y: [1, 2] }).next), [0]);
    }),

    ...onEach('a read that is asked for before the next run has the numbers of the run before it', async (check) => {
      const device = await tensorDevice(check);
      const p = await program(check, device, { x: scalar }, ({ x }) => x.mul(x));
      const reads = [];
      for (let i = 0; i < 5; i++) reads.push(p.run({ x: i }).item());
      check.same(await Promise.all(reads), [0, 1, 4, 9, 16]);
    }),

    ...onEach('sizes are told at each run, and the outputs have them', async (check) => {
      const device = await tensorDevice(check);
      const n = dim('n', 5000);
      const p = await program(check, device, { x: spec('f32', [n, 2]) }, ({ x }) => ({ sums: x.sum(0), softmax: x.softmax(0), twice: x.mul(2), flipped: x.flip(0) }));
      for (const size of [3, 5000, 0, 1, 257]) {
        const values = fill([-2, 2], 2 * size, 'f32');
        const { sums, softmax, twice, flipped } = p.run({ x: values }, { n: size });
        check.same(twice.sizes, [size, 2], 'the size of an output');
        const got = await device.read(sums, softmax, twice, flipped);
        check.same(got[2], values.map((x) => 2 * x), `${size} rows, twice`);
        check.same(got[3], values.map((_, i) => values[2 * (size - 1 - Math.floor(i / 2)) + (i % 2)]), `${size} rows, flipped`);
        [0, 1].forEach((column) => {
          const own = values.filter((_, i) => i % 2 === column);
          const total = own.reduce((a, b) => a + b, 0);
          check.close(got[0][column], total, { within: 2 ** -22 * Math.max(1, Math.abs(total)), because: 'a compensated sum, stored once' }, `${size} rows, the sum`);
          const powers = own.map(Math.exp);
          const whole = powers.reduce((a, b) => a + b, 0);
          powers.forEach((power, i) => check.close(got[1][2 * i + column], power / whole, { within: 24 * 2 ** -24 * (power / whole), because: 'an exponential, a sum and a quotient' }, `${size} rows, softmax`));
        });
      }
    }),

    ...onEach('products of one, a few and many rows are those of one program', async (check) => {
      const device = await tensorDevice(check);
      const [n, depth, columns] = [dim('n', 300), 64, 40];
      const weights = device.tensor(fill([-1, 1], columns * depth, 'f32'), [columns, depth]);
      const p = await program(check, device, { x: spec('f32', [n, depth]) }, ({ x }) => ({ rows: x.matmul(weights.T).add(1), columns: weights.matmul(x.T) }));
      const w = await weights.data();
      const before = device.stats();
      for (const size of [1, 0, 2, 7, 8, 9, 64, 300, 1]) {
        const values = fill([-2, 2], size * depth, 'f32');
        const { rows, columns: transposed } = p.run({ x: values }, { n: size });
        const got = await device.read(rows, transposed);
        for (let i = 0; i < size; i++) {
          for (let j = 0; j < columns; j++) {
            let [exact, magnitude] = [0, 0];
            for (let k = 0; k < depth; k++) {
              exact += values[i * depth + k] * w[j * depth + k];
              magnitude += Math.abs(values[i * depth + k] * w[j * depth + k]);
            }
            const rule = { within: depth * 2 ** -24 * (magnitude + 1), because: 'a sum of so many rounded products' };
            check.close(got[0][i * columns + j], exact + 1, rule, `${size} rows, row ${i}, column ${j}`);
            check.close(got[1][j * size + i], exact, rule, `${size} columns, row ${j}, column ${i}`);
          }
        }
      }
      check.same(device.stats().pipelines, before.pipelines, 'pipelines after other sizes');
    }),

    ...onEach('a run that is refused leaves nothing for the next one', async (check) => {
      const device = await tensorDevice(check);
      const n = dim('n', 8);
      const p = await program(check, device, { x: spec('f32', [n]) }, ({ x }) => ({ twice: x.mul(2), sum: x.sum() }));
      check.same(await list(p.run({ x: [1, 2, 3, 4] }, { n: 4 }).twice), [2, 4, 6, 8]);
      check.match(await check.failureInWords(() => p.run({ x: [1, 2, 3] }, { n: 8 })), /^invalid-argument: /);
      const { twice, sum } = p.run({ x: [1, 2, 3, 4, 5, 6, 7, 8] }, { n: 8 });
      check.same([await list(twice), await list(sum)], [[2, 4, 6, 8, 10, 12, 14, 16], [36]]);
    }),

    ...onEach('numbers of other sizes replace all that a stored tensor left in a small input', async (check) => {
      const device = await tensorDevice(check);
      const n = dim('n', 8);
      const p = await program(check, device, { x: spec('f32', [n]) }, ({ x }) => x.add(1));
      p.run({ x: [1, 2, 3, 4, 5, 6, 7, 8] }, { n: 8 });
      check.same(await list(p.run({ x: p.outputs }, { n: 8 })), [3, 4, 5, 6, 7, 8, 9, 10]);
      check.same(await list(p.run({ x: [1, 2, 3, 4] }, { n: 4 })), [2, 3, 4, 5]);
      check.same(await list(p.run({ x: [1, 2, 3, 4, 0, 0, 0, 0] }, { n: 8 })), [2, 3, 4, 5, 1, 1, 1, 1]);
    }),

    ...onEach('products of one left factor give what each gives alone', async (check) => {
      const device = await tensorDevice(check);
      const n = dim('n', 40);
      const weights = [24, 8, 17].map((columns) => device.tensor(fill([-1, 1], columns * 32, 'f32'), [columns, 32]));
      const halves = await device.store(weights[1].cast('f16'));
      const p = await program(check, device, { x: spec('f32', [n, 32]) }, ({ x }) => {
        const shifted = x.add(0.5);
        return { a: shifted.matmul(weights[0].T).relu(), b: shifted.matmul(halves.T), c: shifted.matmul(weights[2].T).add(1) };
      });
      for (const size of [1, 3, 8, 40, 0]) {
        const values = fill([-2, 2], size * 32, 'f32');
        const { a, b, c } = p.run({ x: values }, { n: size });
        const got = await device.read(a, b, c);
        const numbers = await device.read(weights[0], halves, weights[2]);
        [(x) => Math.max(x, 0), (x) => x, (x) => x + 1].forEach((finish, which) => {
          const columns = weights[which].sizes[0];
          for (let i = 0; i < size * columns; i++) {
            const [row, column] = [Math.floor(i / columns), i % columns];
            let [exact, magnitude] = [0, 0];
            for (let k = 0; k < 32; k++) {
              const term = (values[row * 32 + k] + 0.5) * numbers[which][column * 32 + k];
              exact += term;
              magnitude += Math.abs(term);
            }
            check.close(got[which][i], finish(exact), { within: 34 * 2 ** -24 * (magnitude + 1), because: 'a sum of 32 rounded products' }, `${size} rows, product ${which}, element ${i}`);
          }
        });
      }
    }),

    ...onEach('a stored tensor holds what is assigned, run after run; recipes made before saw what was there', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([1, 2, 3]);
      const p = await program(check, device, { rate: scalar }, ({ rate }) => {
        const before = x.add(0);
        x.assign(x.mul(rate));
        return { before, after: x.add(1) };
      });
      const { before, after } = p.run({ rate: 2 });
      check.same([await list(before), await list(after), await list(x)], [[1, 2, 3], [3, 5, 7], [2, 4, 6]]);
      p.run({ rate: 10 });
      check.same([await list(p.outputs.before), await list(x)], [[2, 4, 6], [20, 40, 60]]);
    }),

    ...onEach('a part of a stored tensor is assigned, and two tensors exchange', async (check) => {
      const device = await tensorDevice(check);
      const [x, y, z] = [device.tensor([1, 2, 3, 4], [2, 2]), device.tensor([1, 2]), device.tensor([3, 4])];
      const p = await program(check, device, {}, () => {
        x.assignAt([1, 0], zeros([1, 1]).sub(1));
        const old = y.add(0);
        y.assign(z);
        z.assign(old);
      });
      p.run();
      check.same([await list(x), await list(y), await list(z)], [[1, 2, -1, 4], [3, 4], [1, 2]]);
    }),

    ...onEach('stored tensors take new numbers, whole and in part, and recipes read what they hold then', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([1, 2, 3]);
      const twice = x.mul(2);
      x.set([9], 1);
      check.same(await list(twice), [2, 18, 6]);
      await x.set(x.add(1));
      check.same(await list(x), [2, 10, 4]);
      const kept = await device.store({ sum: x.sum(), more: [x.neg()] });
      check.same([await list(kept.sum), await list(kept.more[0])], [[16], [-2, -10, -4]]);
      check.same(await device.tensor([[1, 2], [3, 4]]).T.toArray(), [[1, 3], [2, 4]]);
    }),

    ...OPERATIONS.filter(([name]) => !['hypot', 'mse', 'mae', 'binaryCrossEntropy', 'categoricalCrossEntropy', 'huber', 'tukey', 'sum', 'mean'].includes(name)).flatMap(([name, build, domains, value, partials]) =>
      onEach(`map with ${name}: values and derivatives agree with its definition`, async (check) => {
        const device = await tensorDevice(check);
        const columns = domains.map((domain, k) => fill(domain, 100, 'f32', k));
        const tensors = columns.map((column) => device.tensor(column));
        const y = map((...values) => build(V, ...values), ...tensors);
        const [values, ...derivatives] = await device.read(y, ...grad(y.sum(), tensors));
        const at = (i) => columns.map((column) => column[i]);
        const largest = (numbers) => numbers.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
        const exact = columns[0].map((_, i) => value(...at(i)));
        const slopes = columns.map((_, k) => columns[0].map((_, i) => partials(...at(i))[k]));
        const because = 'the package’s promise for single precision, relative to the largest entry';
        const scale = Math.max(largest(exact), 1e-30);
        check.below(largest(exact.map((x, i) => x - values[i])) / scale, 1e-5, because, 'values');
        slopes.forEach((slope, k) => check.below(largest(slope.map((x, i) => x - derivatives[k][i])) / Math.max(largest(slope), 1e-30), 1e-4, because, `derivatives by operand ${k}`));
      })),

    ...GRADIENTS.flatMap(([name, recipe, derivatives]) =>
      onEach(`derivatives of ${name}`, async (check) => {
        const device = await tensorDevice(check);
        const [a, b] = [[1, -2, 3, 0.5, 4, -1], [2, 1, -1, 3, 0.25, 5]];
        const [s, t] = [device.tensor(a), device.tensor(b)];
        const got = await device.read(...grad(recipe(s, t), [s, t]));
        derivatives(a, b).forEach((expected, k) => expected.forEach((number, i) =>
          check.close(got[k][i], number, { within: 8 * 2 ** -24 * Math.max(1, Math.abs(number)), because: 'a few roundings of numbers of about 1' }, `entry ${i} by operand ${k}`)));
      })),

    ...onEach('a fold and a scan of an own rule', async (check) => {
      const device = await tensorDevice(check);
      const values = fill([-3, 3, 1], 1000, 'f32');
      const x = device.tensor(values, [4, 250]);
      // The linear recurrence s ← 0.5 s + x as the composition of maps s ↦ p s + q.
      const recurrence = { identity: [1, 0], lift: (v) => [0.5, v], merge: ([p, q], [r, s]) => [V.mul(p, r), V.add(V.mul(q, r), s)], finish: ([, q]) => q };
      const [sums, running] = await device.read(fold(x, -1, { identity: [0], lift: (v) => [V.square(v)], merge: ([a], [b]) => [V.add(a, b)] }), scan(x, -1, recurrence));
      for (let row = 0; row < 4; row++) {
        const own = values.slice(250 * row, 250 * row + 250);
        check.equal(sums[row], own.reduce((sum, v) => sum + v * v, 0), `the sum of squares of row ${row}`);
        let state = 0;
        own.forEach((v, i) => {
          state = 0.5 * state + v;
          check.close(running[250 * row + i], state, { within: 16 * 2 ** -24 * 6, because: 'roundings of states, which stay below 6' }, `element ${i} of row ${row}`);
        });
      }
    }),

    ...gpuAgainstCpu('a network is trained to the same loss on both engines, and the loss falls', async (check) => {
      const losses = [];
      for (const backend of ['gpu', 'cpu']) {
        const device = await Device.create({ backend });
        check.defer(() => device.dispose());
        const random = new Random(1);
        const [x, labels] = [device.tensor(fill([-1, 1], 40 * 8, 'f32'), [40, 8]), device.tensor(fill([0, 2, 1], 40, 'i32', 1), [40], 'i32')];
        const weights = Object.values(await device.store({ w1: random.normal([8, 16], 0, 0.5), b1: zeros([16]), w2: random.normal([16, 3], 0, 0.25), b2: zeros([3]) }));
        const [w1, b1, w2, b2] = weights;
        const step = await program(check, device, { rate: scalar }, ({ rate }) => {
          const loss = crossEntropy(x.matmul(w1).add(b1).relu().matmul(w2).add(b2), labels).mean();
          grad(loss, weights).forEach((gradient, k) => weights[k].assign(weights[k].sub(gradient.mul(rate))));
          return loss;
        });
        const all = [];
        for (let i = 0; i < 30; i++) all.push(step.run({ rate: 0.5 }).item());
        losses.push(await Promise.all(all));
      }
      check.ok(losses[0].at(-1) < 0.9 * losses[0][0], `the loss falls from ${losses[0][0]} to ${losses[0].at(-1)}`);
      losses[0].forEach((loss, i) => check.close(loss, losses[1][i], { within: 1e-4, because: 'both engines train alike' }, `the loss of step ${i}`));
    }, { long: true }),

    ...onEach('runs leave the figures of memory as they were, and dispose takes them back to the start', async (check) => {
      const device = await tensorDevice(check);
      const figures = () => {
        const { tensors, tensorBytes, programs, programBytes, pipelines, leaked } = device.stats();
        return { tensors, tensorBytes, programs, programBytes, pipelines, leaked };
      };
      const before = figures();
      const x = device.tensor(fill([-1, 1], 1000, 'f32'));
      const p = await device.compile({ rate: scalar }, ({ rate }) => {
        x.assign(x.mul(rate).add(x.mean()));
        return x.softmax();
      });
      await p.run({ rate: 0.5 }).data();
      const during = figures();
      for (let i = 0; i < 100; i++) p.run({ rate: 0.5 });
      await device.synchronize();
      check.same(figures(), during, 'after a hundred runs');
      check.equal(during.tensors, before.tensors + 1, 'tensors are those that were made by name');
      p.dispose();
      x.dispose();
      const { pipelines: _, ...after } = figures();
      const { pipelines: __, ...start } = before;
      check.same(after, start, 'after dispose()');
    }),

    ...onEach('what cannot be is refused with a code', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([1, 2, 3]);
      const p = await program(check, device, { x: spec('f32', [3]) }, ({ x }) => x.add(1));
      const gone = device.tensor([1]);
      gone.dispose();
      const attempts = [
        ['invalid-argument', () => p.run({ x: [1, 2] })], ['invalid-argument', () => p.run({})], ['invalid-graph', () => x.assign(x.mul(2))], ['disposed', () => gone.data()],
        ['invalid-argument', () => device.tensor([1, 2], [3])], ['invalid-argument', () => x.sum(3)],
      ];
      for (const [code, attempt] of attempts) check.match(await check.failureInWords(async () => attempt()), new RegExp(`^${code}: \\S`), String(attempt));
      const other = await tensorDevice(check);
      check.match(await check.failureInWords(async () => x.add(other.tensor([1, 2, 3])).data()), /^invalid-graph: /, 'tensors of two devices');
      check.match(await check.failureInWords(device.compile({}, () => x.add(1), { signal: AbortSignal.abort() })), /^aborted: /, 'a compile that is aborted');
      device.dispose();
      check.match(await check.failureInWords(async () => x.add(1).data()), /^(disposed|device-lost): /, 'a device that is gone');
    }),
  ],
};
