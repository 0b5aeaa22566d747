/**
 * Facts about loops over tensors, which hold on both engines: the same steps written out, with their derivatives. The two add in other orders, each sum with a rounding for
 * a step: `UNITS` of the last place of the largest number are allowed.
 */
import { noise } from './linalg.js';

const UNITS = 64;

/** The tensors of the case, and how a loop and the steps written out compute. */
const CASES = [
  ['a recurrent layer', [[3, 4], [4, 5], [5, 5], [5], [3, 5]], (T, [x, w, r, b, h], n) => {
    const inputs = T.stack(Array.from({ length: n }, (_, t) => x.mul(1 + 0.1 * t)));
    const cell = (hidden, input) => hidden.matmul(r).add(input.matmul(w)).add(b).tanh();
    const [last, outputs] = T.scan(inputs, h, (hidden, input) => { const next = cell(hidden, input); return [next, next.sigmoid()]; });
    const found = [];
    let hidden = h;
    for (let t = 0; t < n; t++) found.push((hidden = cell(hidden, inputs.pick(0, t))).sigmoid());
    return [[last, outputs], [hidden, T.stack(found)]];
  }],
  ['gates with a cell, from the last step to the first, along the second axis', [[2, 12], [3, 12], [2, 3]], (T, [x, r, h], n) => {
    const inputs = T.stack(Array.from({ length: n }, (_, t) => x.add(0.05 * t)), 1);
    const step = ({ hidden, cell }, sums) => {
      const [i, f, o, g] = sums.add(hidden.matmul(r)).split(4, 1);
      const next = f.sigmoid().mul(cell).add(i.sigmoid().mul(g.tanh()));
      return { hidden: o.sigmoid().mul(next.tanh()), cell: next };
    };
    const [last, { outputs }] = T.scan({ sums: inputs }, { hidden: h, cell: h.mul(0.5) }, (state, { sums }) => { const next = step(state, sums); return [next, { outputs: next.hidden }]; }, { axis: 1, reverse: true });
    const found = [];
    let state = { hidden: h, cell: h.mul(0.5) };
    for (let t = n - 1; t >= 0; t--) { state = step(state, inputs.pick(1, t)); found[t] = state.hidden; }
    return [[last.hidden, last.cell, outputs], [state.hidden, state.cell, T.stack(found, 1)]];
  }],
  ['a loop in a loop, which takes its state and its counter', [[3, 3], [1, 3]], (T, [a, s], n) => {
    const inner = (state, t, j) => t.matmul(a).add(state).tanh().mul(j);
    const looped = T.loop(n, s, (state, i) => T.loop(3, state, (t, j) => inner(state, t, j.cast('f32').add(1).mul(0.5))).add(i.cast('f32').mul(0.01)));
    let state = s;
    for (let i = 0; i < n; i++) {
      let t = state;
      for (let j = 0; j < 3; j++) t = inner(state, t, (j + 1) * 0.5);
      state = t.add(0.01 * i);
    }
    return [[looped], [state]];
  }],
  ['two loops in a row with one weight, of which the second takes what the first gives', [[3, 3], [1, 3]], (T, [a, s], n) => {
    const repeated = (state, body) => { for (let i = 0; i < n; i++) state = body(state); return state; };
    const both = (run) => { const first = run(s, (x) => x.matmul(a).tanh()); return run(first, (x) => x.matmul(a).add(first).sin()).mul(first); };
    return [[both((state, body) => T.loop(n, state, body))], [both(repeated)]];
  }],
  ['as many steps as a tensor says', [[4]], (T, [x], n, device) => {
    const looped = T.loop(device.tensor([n], [], 'i32'), x, (s) => s.mul(1.25).sin(), { most: n + 3 });
    let state = x;
    for (let i = 0; i < n; i++) state = state.mul(1.25).sin();
    return [[looped], [state]];
  }],
];

function near(ok, found, expected, name) {
  ok(found.length === expected.length, `${name}: ${found.length} numbers, not ${expected.length}`);
  const most = expected.reduce((largest, x) => Math.max(largest, Math.abs(x)), 2 ** -20);
  let worst = 0;
  expected.forEach((x, k) => (worst = Math.max(worst, Number.isNaN(found[k]) ? Infinity : Math.abs(found[k] - x))));
  ok(worst <= UNITS * 2 ** -23 * most, `${name} is off by ${worst / most / 2 ** -23} units of the largest number, at most ${UNITS}`);
}

const alike = (counts) => ([name, shapes, make]) => [`${name} is what its ${counts.join(' or ')} steps are, with derivatives`, async (T, device, ok) => {
  for (const n of counts) {
    const inputs = shapes.map((shape, k) => device.tensor(noise(shape.reduce((a, b) => a * b, 1), k + 1), shape));
    const [looped, written] = make(T, inputs, n, device);
    const derivatives = (results) => T.grad(results.map((each) => each.square().sum()).reduce((a, b) => a.add(b)), inputs);
    const [a, b] = [[...looped, ...derivatives(looped)], [...written, ...derivatives(written)]];
    const [found, expected] = [await device.read(...a), await device.read(...b)];
    expected.forEach((each, k) => near(ok, found[k], each, `${n} steps: ${k < looped.length ? `result ${k}` : `derivative ${k - looped.length}`}`));
  }
}];

/** Facts that take long on a software adapter, which compiles a kernel for each step that is written out. */
export const LONG_LOOPS = [
  ...CASES.map(alike([1, 2, 7, 16])),
  ['a program has one plan for all sizes of a Dim', async (T, device, ok) => {
    const n = T.dim('n', 20);
    const w = device.tensor(noise(9, 5), [3, 3]);
    const step = (s, x) => s.matmul(w).add(x).tanh();
    const program = await device.compile({ x: T.spec('f32', [n, 2, 3]), h: T.spec('f32', [2, 3]) }, ({ x, h }) => {
      const [last, all] = T.scan(x, h, (s, each) => { const next = step(s, each); return [next, next]; });
      return [last, all, ...T.grad(last.square().sum().add(all.mul(0.1).sum()), [x, w, h])];
    });
    for (const count of [0, 1, 4, 5, 17, 20, 3]) {
      const [x, h] = [noise(6 * count, 7), noise(6, 8)];
      const [last, all, byX, byW, byH] = await device.read(...program.run({ x, h }, { n: count }));
      const inputs = Array.from({ length: count }, (_, t) => device.tensor(x.subarray(6 * t, 6 * t + 6), [2, 3]));
      const start = device.tensor(h, [2, 3]);
      const states = [];
      let s = start;
      for (const each of inputs) states.push((s = step(s, each)));
      const loss = states.reduce((sum, each) => sum.add(each.mul(0.1).sum()), s.square().sum());
      const [lastOf, byWOf, byHOf, ...rest] = await device.read(s, ...T.grad(loss, [w, start, ...inputs]), ...states);
      const joined = (parts) => parts.flatMap((part) => [...part]);
      near(ok, last, lastOf, `${count} steps: the last state`);
      near(ok, byW, byWOf, `${count} steps: the derivative by the weight`);
      near(ok, byH, byHOf, `${count} steps: that by the first state`);
      near(ok, byX, joined(rest.slice(0, count)), `${count} steps: that by the inputs`);
      near(ok, all, joined(rest.slice(count)), `${count} steps: all states`);
    }
  }],
  ['the plan does not grow with the steps, and memory as their root', async (T, device, ok) => {
    const w = device.tensor(noise(64, 3), [8, 8]);
    const program = (n) => device.compile({ h: T.spec('f32', [256, 8]) }, ({ h }) => T.grad(T.loop(n, h, (s) => s.matmul(w).tanh()).sum(), [w, h]));
    const [short, long] = [await program(16), await program(1024)];
    ok(short.plan.dispatches === long.plan.dispatches, `${long.plan.dispatches} dispatches for 1,024 steps, ${short.plan.dispatches} for 16`);
    const state = 4 * 256 * 8;
    const more = (long.plan.bytes - short.plan.bytes) / state;
    // From 4 + 1 and 4 states to 32 + 1 and 32 in two copies of the checkpoints and one of a part's states.
    ok(more <= 3 * 28 + 4, `1,024 steps take memory for ${more} more states than 16 do`);
  }],
];

export const LOOPS = [
  alike([2])(CASES[3]),
  ['states and outputs have any types', async (T, device, ok) => {
    const tensor = (value, dtype) => device.tensor([value, value], [2], dtype);
    const numbers = T.loop(10, { a: tensor(0, 'i32'), b: tensor(1, 'i32'), flag: tensor(0, 'bool'), byte: tensor(250, 'u8'), half: tensor(1, 'f16') }, ({ a, b, flag, byte, half }) => ({
      half: half.mul(0.5), byte: byte.add(1), flag: flag.not(), b: a.add(b), a: b,
    }));
    const read = await device.read(numbers.a, numbers.b, numbers.flag, numbers.byte, numbers.half);
    ok(JSON.stringify(read.map((each) => [...each])) === JSON.stringify([[55, 55], [89, 89], [0, 0], [4, 4], [2 ** -10, 2 ** -10]]), `ten steps give ${JSON.stringify(read.map((each) => [...each]))}`);
    const [, outputs] = T.scan(T.arange(7, 'i32'), device.tensor([0], [], 'i32'), (s, x) => [s.add(x), { sum: s.add(x), odd: x.and(1).cast('bool'), byte: x.cast('u8'), half: x.cast('f16').mul(0.5), bits: x.cast('u32').shl(30) }]);
    const rows = await device.read(outputs.sum, outputs.odd, outputs.byte, outputs.half, outputs.bits);
    const expected = [[0, 1, 3, 6, 10, 15, 21], [0, 1, 0, 1, 0, 1, 0], [0, 1, 2, 3, 4, 5, 6], [0, 0.5, 1, 1.5, 2, 2.5, 3], [0, 2 ** 30, 2 ** 31, 3 * 2 ** 30, 0, 2 ** 30, 2 ** 31]];
    ok(JSON.stringify(rows.map((each) => [...each])) === JSON.stringify(expected), `seven slices give ${JSON.stringify(rows.map((each) => [...each]))}`);
    const z = T.complex(device.tensor([0.6, 0]), device.tensor([0.8, 1]));
    const [last, powers] = T.scan(T.zeros([4]), z, (s) => [s.mul(z), s]);
    const [a, b, c, d] = await device.read(last, powers, z.mul(z).mul(z).mul(z).mul(z), T.stack([z, z.mul(z), z.mul(z).mul(z), z.mul(z).mul(z).mul(z)]));
    near(ok, a, c, 'the fifth power of complex numbers');
    near(ok, b, d, 'the powers before it');
  }],
];
