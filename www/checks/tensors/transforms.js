/**
 * Facts about derivatives of functions and about functions of many examples, which hold on both engines: closed forms, in double precision here, and one way of computing
 * beside another. Some roundings of single precision, each 6e-8, of sums of up to some dozen terms are allowed.
 */
import { noise } from './linalg.js';

const TOLERANCE = 1e-5;

function near(ok, found, expected, name, tolerance = TOLERANCE) {
  const numbers = [...found];
  const wanted = [expected].flat(Infinity);
  const most = wanted.reduce((largest, x) => Math.max(largest, Math.abs(x)), 1);
  ok(numbers.length === wanted.length, `${name}: ${numbers.length} numbers, not ${wanted.length}`);
  const worst = numbers.reduce((largest, x, k) => Math.max(largest, Number.isNaN(x) ? Infinity : Math.abs(x - wanted[k])), 0);
  ok(worst <= tolerance * most, `${name}: off by ${worst} of ${most}`);
}

const shapeIs = (ok, tensor, shape, name) => ok(JSON.stringify(tensor.shape) === JSON.stringify(shape), `${name} has the shape [${tensor.shape}], not [${shape}]`);
const maker = (device) => (...shape) => device.tensor(noise(shape.reduce((a, b) => a * b, 1), shape.length), shape);
const softmaxOf = (x) => { const e = x.map(Math.exp); const sum = e.reduce((a, b) => a + b); return e.map((each) => each / sum); };

/** Functions of x [3, 4], y [4] and w [4, 3], whose derivatives in a direction are those of all elements times the direction. */
const FUNCTIONS = {
  elementwise: (T, x, y) => x.mul(y).sin().add(x.square().add(1).sqrt()).div(y.exp()),
  activations: (T, x) => T.stack([x.gelu(), x.silu(), x.softplus(), x.tanh(), x.relu()]),
  reductions: (T, x) => T.concat([x.sum(0), x.prod(1), x.max(0), x.variance(1), x.norm(0), x.logSumExp(1)]),
  softmax: (T, x) => T.stack([x.softmax(), x.logSoftmax(0)]),
  norms: (T, x, y) => T.layerNorm(x, { weight: y }).add(T.rmsNorm(x, { weight: y })),
  scans: (T, x) => T.stack([x.cumsum(0), x.cumprod(1)]),
  products: (T, x, y, w) => x.matmul(w).matmul(x).matmul(y),
  einsum: (T, x, y, w) => T.einsum('ij,jk,ki->k', x, w, w.T.matmul(w)),
  gathers: (T, x, y) => T.concat([x.indexSelect(T.arange(3, 'i32').mul(2).sub(2), 1).flatten(), y.sort(), x.gather(T.iota([3, 2], 1, 'i32'), 1).flatten()]),
  shapes: (T, x) => T.concat([x.slice([0, 2], [3, null, -2]), x.T.reshape([6, 2]), x.windows(1, 2).sum(0)]),
  borders: (T, x) => x.pad([[1, 1], [0, 2]], { mode: 'mirror' }).mul(x.pad([[0, 2], [1, 1]])),
  attention: (T, x) => T.attention(x, x.mul(2), x.cos()),
  'linear algebra': (T, x, y, w) => T.linalg.solve(w.T.matmul(w).add(T.eye(3)), x.pick(1, 0)),
  transforms: (T, x) => { const z = T.fft(x); return z.real().square().add(z.imag()); },
  'a reduction of one\'s own': (T, x) => T.fold(x, 1, { identity: [0, 1], merge: ([a, b], [c, d]) => [a.add(c), b.mul(d)], lift: (v) => [v, v.mul(0.5).add(1)], result: ([a, b]) => a.mul(b) }),
  gradients: (T, x, y) => T.grad(x.matmul(y).tanh().sum(), [x])[0].mul(x),
};

export const TRANSFORMS = [
  ['jvp of x² sin y', async (T, device, ok) => {
    const [a, b, da, db] = [0.7, -1.3, 2, -0.5];
    const [{ z, x }, tangents] = T.jvp((p, q) => ({ z: p.square().mul(q.sin()), x: p }), [device.tensor([a, 3]), device.tensor(b, [])], [device.tensor([da, 0]), device.tensor(db, [])]);
    const [value, found, same] = await device.read(z, tangents.z, tangents.x);
    near(ok, value, [a * a, 9].map((each) => each * Math.sin(b)), 'the value');
    near(ok, found, [2 * a * Math.sin(b) * da + a * a * Math.cos(b) * db, 9 * Math.cos(b) * db], 'the tangent');
    near(ok, same, [da, 0], 'the tangent of the argument');
    ok(x.shape[0] === 2, 'the argument comes back');
  }],
  ['jvp of complex numbers is linear: of z² it is 2 z dz', async (T, device, ok) => {
    const [z, dz] = [[0.5, -1.5], [2, 0.25]].map(([re, im]) => T.complex(device.tensor([re]), device.tensor([im])));
    const [, tangent] = T.jvp((x) => x.mul(x), [z], [dz]);
    const expected = z.mul(dz).mul(2);
    const [found, wanted] = await device.read(tangent, expected);
    near(ok, found, [...wanted], 'the tangent');
  }],
  ...Object.entries(FUNCTIONS).map(([name, f]) => [`jvp, jacobian and grad of ${name} agree`, async (T, device, ok) => {
    const tensor = maker(device);
    const inputs = [tensor(3, 4), tensor(4).add(0.25), tensor(4, 3).mul(0.5)];
    const of = (...given) => f(T, ...given);
    const directions = [tensor(3, 4).cos(), tensor(4).mul(2), tensor(4, 3).sub(0.5)];
    const [y, tangent] = T.jvp(of, inputs, directions);
    const rows = T.jacobian(of, [0, 1, 2])(...inputs);
    rows.forEach((each, k) => shapeIs(ok, each, [...y.shape, ...inputs[k].shape], `the jacobian by ${k}`));
    const product = rows.map((each, k) => each.mul(directions[k]).sum(inputs[k].shape.map((_, axis) => axis - inputs[k].rank))).reduce((a, b) => a.add(b));
    const weights = y.add(1).cos().stopGradient();
    const back = T.grad(y.mul(weights).sum(), inputs);
    const columns = rows.map((each, k) => each.mul(weights.reshape([...y.shape, ...inputs[k].shape.map(() => 1)])).sum(y.shape.map((_, axis) => axis)));
    const [found, expected, ...others] = await device.read(tangent, product, ...back, ...columns);
    near(ok, found, [...expected], 'the tangent', 1e-4);
    back.forEach((_, k) => near(ok, others[k], [...others[k + 3]], `the gradient by ${k}`, 1e-4));
  }]),
  ['jacobian of softmax is diag(s) − s sᵀ, and second derivatives of log Σ eˣ are', async (T, device, ok) => {
    const x = [0.1, -2, 1.5, 0.7];
    const s = softmaxOf(x);
    const expected = s.map((a, i) => s.map((b, j) => (i === j ? a : 0) - a * b));
    const given = device.tensor(x);
    const [found, second] = [T.jacobian((v) => v.softmax())(given), T.hessian((v) => v.logSumExp())(given)];
    shapeIs(ok, found, [4, 4], 'the jacobian');
    shapeIs(ok, second, [4, 4], 'the hessian');
    near(ok, await found.data(), expected, 'the jacobian');
    near(ok, await second.data(), expected, 'the hessian');
  }],
  ['columns or rows: few arguments of many outputs, many of few', async (T, device, ok) => {
    const x = device.tensor([0.3, -1.1]);
    const [wide, tall] = [T.jacobian((v) => T.stack([v.sin(), v.cos(), v.mul(v.sum())])), T.jacobian((v) => v.square().sum(1))];
    const many = wide(x);
    const few = tall(maker(device)(2, 5));
    shapeIs(ok, many, [3, 2, 2], 'many outputs');
    shapeIs(ok, few, [2, 2, 5], 'few outputs');
    const [a, b] = [0.3, -1.1];
    near(ok, await many.data(), [Math.cos(a), 0, 0, Math.cos(b), -Math.sin(a), 0, 0, -Math.sin(b), 2 * a + b, a, b, a + 2 * b], 'many outputs');
    const numbers = await maker(device)(2, 5).data();
    near(ok, await few.data(), Array.from({ length: 20 }, (_, k) => (k < 5 ? 2 * numbers[k] : k < 15 ? 0 : 2 * numbers[k - 10])), 'few outputs');
  }],
  ['outputs in records, arguments in lists, and shapes of scalars', async (T, device, ok) => {
    const [a, b] = [device.tensor(2, []), device.tensor([1, 3])];
    const { p, q } = T.jacobian((x, y) => ({ p: y.mul(x), q: x.square() }), [0, 1])(a, b);
    [[p[0], [2]], [p[1], [2, 2]], [q[0], []], [q[1], [2]]].forEach(([tensor, shape], k) => shapeIs(ok, tensor, shape, `result ${k}`));
    const found = await device.read(...p, ...q);
    [[1, 3], [2, 0, 0, 2], [4], [0, 0]].forEach((expected, k) => near(ok, found[k], expected, `result ${k}`));
  }],
  ['hessian of Rosenbrock\'s function, of a quadratic form, and by two arguments', async (T, device, ok) => {
    const [x, y] = [-1.2, 1];
    const banana = (v) => { const [p, q] = v.split(2); return p.neg().add(1).square().add(q.sub(p.square()).square().mul(100)).reshape([]); };
    near(ok, await T.hessian(banana)(device.tensor([x, y])).data(), [1200 * x * x - 400 * y + 2, -400 * x, -400 * x, 200], 'Rosenbrock');
    const [m, p, q] = [maker(device)(3, 4), maker(device)(3), maker(device)(4)];
    const blocks = T.hessian((u, v) => u.dot(m.matmul(v)).add(u.square().sum()), [0, 1])(p, q);
    const [uu, uv, vu, vv] = await device.read(...blocks.flat());
    const numbers = await m.data();
    near(ok, uu, [2, 0, 0, 0, 2, 0, 0, 0, 2], 'u, u');
    near(ok, uv, [...numbers], 'u, v');
    near(ok, vu, [...(await m.T.data())], 'v, u');
    near(ok, vv, Array(16).fill(0), 'v, v');
    const vector = T.hessian((v) => v.pow(3))(device.tensor([1, 2]));
    shapeIs(ok, vector, [2, 2, 2], 'of a vector');
    near(ok, await vector.data(), [6, 0, 0, 0, 0, 0, 0, 12], 'of a vector');
  }],
  ['gradients of each example, of what is the same for all too', async (T, device, ok) => {
    const [w, x, t] = [maker(device)(3, 2), maker(device)(5, 3), maker(device)(5, 2)];
    const loss = (row, target) => row.matmul(w).tanh().sub(target).square().sum();
    const one = (row, target) => T.grad(loss(row, target), [w, row]);
    const [byWeight, byRow] = T.vmap(one)(x, t);
    shapeIs(ok, byWeight, [5, 3, 2], 'by the weight');
    const each = Array.from({ length: 5 }, (_, k) => one(x.pick(0, k), t.pick(0, k)));
    const [found, other, expected, expectedRow] = await device.read(byWeight, byRow, T.stack(each.map(([g]) => g)), T.stack(each.map(([, g]) => g)));
    near(ok, found, [...expected], 'by the weight');
    near(ok, other, [...expectedRow], 'by the row');
    const whole = T.grad(T.vmap(loss)(x, t).sum(), [w])[0];
    const [all, sum] = await device.read(whole, byWeight.sum(0));
    near(ok, all, [...sum], 'of the sum');
  }],
  ['each of many examples: jvp, jacobian, hessian; and derivatives of many examples', async (T, device, ok) => {
    const x = maker(device)(3, 2);
    const f = (v) => v.prod().add(v.pow(3).sum());
    const seconds = T.vmap(T.hessian(f))(x);
    const numbers = await x.data();
    near(ok, await seconds.data(), [0, 1, 2].flatMap((k) => [6 * numbers[2 * k], 1, 1, 6 * numbers[2 * k + 1]]), 'hessians');
    const tangents = T.vmap((v) => T.jvp((u) => u.square().sum(), [v], [v.mul(2)])[1])(x);
    near(ok, await tangents.data(), [0, 1, 2].map((k) => 4 * (numbers[2 * k] ** 2 + numbers[2 * k + 1] ** 2)), 'tangents');
    const rows = T.jacobian(T.vmap((v) => v.square().sum()))(x);
    shapeIs(ok, rows, [3, 3, 2], 'of many');
    near(ok, await rows.data(), Array.from({ length: 18 }, (_, k) => (Math.floor(k / 6) === Math.floor((k % 6) / 2) ? 2 * numbers[k % 6] : 0)), 'of many');
  }],
  ['loops over many examples, with different counts, and their derivatives', async (T, device, ok) => {
    const [x, w] = [maker(device)(3, 4, 2), maker(device)(2, 2)];
    const counts = device.tensor([0, 2, 5], [3], 'i32');
    const recurrent = (rows, count) => {
      const [last, outputs] = T.scan(rows, T.zeros([2]), (state, row, i) => { const next = state.matmul(w).add(row).tanh(); return [next, next.sum().mul(i.cast('f32'))]; });
      return [T.loop(count, last, (state) => state.mul(1.5).sin(), { most: 5 }), outputs];
    };
    const scalar = (rows, count) => { const [a, b] = recurrent(rows, count); return a.square().sum().add(b.sum()); };
    const [last, outputs] = T.vmap(recurrent)(x, counts);
    shapeIs(ok, outputs, [3, 4], 'outputs');
    const each = [0, 1, 2].map((k) => [x.pick(0, k), counts.pick(0, k)]);
    const [a, b, c, d] = await device.read(last, outputs, T.stack(each.map((one) => recurrent(...one)[0])), T.stack(each.map((one) => recurrent(...one)[1])));
    near(ok, a, [...c], 'states');
    near(ok, b, [...d], 'outputs');
    const sums = each.map((one) => scalar(...one));
    const together = T.grad(T.vmap(scalar)(x, counts).sum(), [x, w]);
    const apart = T.vmap((rows, count) => T.grad(scalar(rows, count), [rows, w]))(x, counts);
    const expected = T.grad(sums.reduce((p, q) => p.add(q)), [x, w]);
    const found = await device.read(...together, apart[0], apart[1].sum(0), ...expected);
    [0, 1, 2, 3].forEach((k) => near(ok, found[k], [...found[4 + (k % 2)]], `gradient ${k}`, 1e-4));
  }],
  ['jvp of loops beside the steps written out, and its derivative', async (T, device, ok) => {
    const [w, x, s] = [maker(device)(3, 3), maker(device)(4, 2, 3), maker(device)(2, 3)];
    const step = (weight, state, row, i) => state.matmul(weight).add(row).tanh().mul(i.cast('f32').mul(0.1).add(1));
    const looped = (weight, rows, first) => {
      const [last, outputs] = T.scan(rows, first, (state, row, i) => { const next = step(weight, state, row, i); return [next, T.loop(2, next, (inner) => inner.matmul(weight).sin()).sum(0)]; });
      return [last, outputs, T.loop(3, last, (state) => state.mul(weight.sum()).cos().add(first))];
    };
    const written = (weight, rows, first) => {
      const outputs = [];
      let state = first;
      for (let k = 0; k < 4; k++) {
        state = step(weight, state, rows.pick(0, k), T.full([], k, 'i32'));
        let inner = state;
        for (let j = 0; j < 2; j++) inner = inner.matmul(weight).sin();
        outputs.push(inner.sum(0));
      }
      let last = state;
      for (let k = 0; k < 3; k++) last = last.mul(weight.sum()).cos().add(first);
      return [state, T.stack(outputs), last];
    };
    const [inputs, directions] = [[w, x, s], [w.cos(), x.sin(), s.mul(2)]];
    const [, found] = T.jvp(looped, inputs, directions);
    const [, expected] = T.jvp(written, inputs, directions);
    const numbers = await device.read(...found, ...expected);
    [0, 1, 2].forEach((k) => near(ok, numbers[k], [...numbers[k + 3]], `tangent ${k}`, 1e-4));
    // A derivative times a direction, whose derivative is a second one times it.
    const second = (f) => T.grad(T.jvp((weight) => f(weight, x, s)[0].square().sum(), [w], [w.cos()])[1], [w])[0];
    const [one, other] = await device.read(second(looped), second(written));
    near(ok, one, [...other], 'a second derivative', 1e-3);
    const many = T.vmap((direction) => T.jvp((first) => looped(w, x, first)[0], [s], [direction])[1])(T.stack([s, s.mul(3)]));
    const [rows, each] = await device.read(many.pick(0, 1), T.jvp((first) => written(w, x, first)[0], [s], [s.mul(3)])[1]);
    near(ok, rows, [...each], 'many directions', 1e-4);
  }],
  ['derivatives of any order of cumulative products and of recurrences by a rule', async (T, device, ok) => {
    const x = device.tensor([2, 3, 0, 5]);
    const e = device.tensor([1, 0, 1, 1]);
    const along = (f) => (v) => T.jvp(f, [v], [e])[1];
    const [first, second, third] = [0, 1, 2].map((k) => Array.from({ length: k + 1 }).reduce(along, (v) => v.cumprod()));
    // Of (2 + t) · 3 · t · (5 + t), and of its parts: 3 (10 t + 7 t² + t³).
    const found = await device.read(first(x), second(x), third(x));
    [[1, 3, 6, 30], [0, 0, 6, 42], [0, 0, 0, 18]].forEach((expected, k) => near(ok, found[k], expected, `derivative ${k + 1}`));
    // s = a s + a, of states (a, s): for a of a vector, the sums of the products of its ends.
    const rule = { identity: [1, 0], lift: (a) => [a, a], merge: ([a, s], [b, t]) => [a.mul(b), s.mul(b).add(t)], finish: ([, s]) => s };
    const sums = (v) => T.scan(v, 0, rule);
    const written = (v) => { const s = [0]; for (let k = 0; k < 4; k++) { const a = v.pick(0, k); s.push(a.mul(s[k]).add(a)); } return T.stack(s.slice(1)); };
    for (const f of [along, (g) => (v) => T.grad(g(v).square().sum(), [v])[0], (g) => along(along(g))]) {
      const twice = (g) => f(along(g))(x);
      const [one, other] = await device.read(twice(sums), twice(written));
      near(ok, one, [...other], `a derivative of a recurrence, ${f}`);
    }
  }],
  ['derivatives of the caller: reversed, cut, of several tensors, in place of those of the value', async (T, device, ok) => {
    const [x, y] = [device.tensor([-1, 2, 0.5]), device.tensor([4, 3, 2])];
    const reversed = T.customGradient((v) => v, (adjoint) => [adjoint.neg()]);
    near(ok, await T.grad(reversed(x).mul(y).sum(), [x])[0].data(), [-4, -3, -2], 'reversed');
    const cut = T.customGradient((v) => v.mul(2), (adjoint) => [adjoint.clamp(-1, 3)]);
    near(ok, await T.grad(cut(x).mul(y).sum(), [x])[0].data(), [3, 3, 2], 'cut');
    // The same function twice, with different adjoints.
    near(ok, await T.grad(cut(cut(x).mul(0.25)).mul(y).sum(), [x])[0].data(), [0.75, 0.75, 0.5], 'twice');
    const both = T.customGradient((p, q) => ({ sum: p.add(q), product: p.mul(q).sum() }), ({ sum, product }, [, q], outputs) => [q.mul(product).add(sum), outputs.product.mul(sum)]);
    const { sum, product } = both(x, y);
    const [byX, byY] = T.grad(sum.mul(device.tensor([1, 10, 100])).sum().add(product.mul(5)), [x, y]);
    const [found, other] = await device.read(byX, byY);
    near(ok, found, [21, 25, 110], 'by x');
    near(ok, other, [3, 30, 300], 'by y');
    const none = T.customGradient((p, q) => p.mul(q), (adjoint, [, q]) => [adjoint.mul(q), null]);
    const [byP, byQ] = await device.read(...T.grad(none(x, y).sum(), [x, y]));
    near(ok, byP, [4, 3, 2], 'by p');
    near(ok, byQ, [0, 0, 0], 'by q');
    const half = T.customGradient((p) => p.square(), (adjoint, [p]) => [adjoint.mul(p).mul(10)]);
    near(ok, await T.grad(half(x.cast('f16')).cast('f32').sum(), [x])[0].data(), [-10, 20, 5], 'of f16');
    const z = T.complex(x, y);
    const conjugate = T.customGradient((p) => p.mul(p), (adjoint) => [adjoint.mul(3)]);
    near(ok, await T.grad(conjugate(z).real().mul(y).sum(), [z])[0].data(), [12, 0, 9, 0, 6, 0], 'complex');
  }],
  ['derivatives of the caller in loops, of many examples, and twice', async (T, device, ok) => {
    const x = device.tensor([0.5, -0.25, 1]);
    const cube = T.customGradient((v) => v.mul(v).mul(v).stopGradient(), (adjoint, [v]) => [adjoint.mul(v.square()).mul(3)]);
    near(ok, await T.hessian((v) => cube(v).sum())(x).data(), [3, 0, 0, 0, -1.5, 0, 0, 0, 6], 'twice');
    near(ok, await T.vmap((v) => T.grad(cube(v), [v])[0])(x).data(), [0.75, 0.1875, 3], 'of examples');
    const looped = T.loop(3, x, (s) => cube(s).mul(0.5).add(s));
    const written = [0, 1, 2].reduce((s) => s.mul(s).mul(s).mul(0.5).add(s), x);
    const [found, expected] = await device.read(T.grad(looped.sum(), [x])[0], T.grad(written.sum(), [x])[0]);
    near(ok, found, [...expected], 'in a loop');
    const inside = T.customGradient((v) => T.loop(2, v, (s) => s.mul(s)), (adjoint, [v]) => [adjoint.mul(v.pow(3)).mul(4)]);
    near(ok, await T.grad(inside(x).mul(x.stopGradient()).sum(), [x])[0].data(), [0.5, -0.25, 1].map((v) => 4 * v ** 4), 'a loop inside');
  }],
];
