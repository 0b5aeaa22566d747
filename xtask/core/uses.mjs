// What the core module is for: curve fits and small dense problems on the CPU. `make.mjs` keeps the functions of the whole module that these uses call.
// A use that is missing here still works: the facade does it again with the whole module (pkg-template/src/module/core.ts).

/** Numbers from −1 to 1 that look like noise. */
const noise = (i) => Math.sin(12.9898 * i + 78.233 * Math.sin(3.7 * i));
const range = (count, from, to) => Array.from({ length: count }, (_, i) => from + ((to - from) * i) / (count - 1));
const sum = (count, term) => {
  let total = 0;
  for (let k = 0; k < count; k++) total += term(k);
  return total;
};

/** Curves as [model of numbers, model of Values, true values, start values, range of x]. */
const curves = (V) => ({
  line: [([a, b]) => (x) => a + b * x, ([a, b], x) => a.add(b.mul(x)), [1, -2], [0, 0], [-1, 1]],
  decay: [([a, k]) => (x) => a * Math.exp(-k * x), ([a, k], x) => a.mul(k.mul(x).neg().exp()), [3, 0.7], [1, 1], [0, 8]],
  twoDecays: [
    ([a, k, b, l]) => (x) => a * Math.exp(-k * x) + b * Math.exp(-l * x),
    ([a, k, b, l], x) => a.mul(k.mul(x).neg().exp()).add(b.mul(l.mul(x).neg().exp())),
    [3, 0.4, 2, 2.5], [1, 0.1, 1, 5], [0, 8],
  ],
  peak: [
    ([a, m, s, c]) => (x) => a * Math.exp(-0.5 * ((x - m) / s) ** 2) + c,
    ([a, m, s, c], x) => a.mul(V.square(V.div(V.sub(x, m), s)).mul(-0.5).exp()).add(c),
    [3, 1, 0.5, 0.3], [2, 0.4, 1, 0], [-3, 4],
  ],
  twoPeaks: [
    ([a, m, s, b, n, t]) => (x) => a / (1 + ((x - m) / s) ** 2) + b / (1 + ((x - n) / t) ** 2),
    ([a, m, s, b, n, t], x) => a.div(V.square(x.sub(m).div(s)).add(1)).add(b.div(V.square(x.sub(n).div(t)).add(1))),
    [3, -1, 0.5, 2, 1.5, 0.7], [1, -0.7, 1, 1, 1, 1], [-4, 4],
  ],
  wave: [
    ([a, w, p, c]) => (x) => a * Math.sin(w * x + p) + c,
    ([a, w, p, c], x) => a.mul(w.mul(x).add(p).sin()).add(c),
    [2, 1.3, 0.4, 0.1], [1, 1.2, 0, 0], [0, 12],
  ],
  logistic: [
    ([top, k, m]) => (x) => top / (1 + Math.exp(-k * (x - m))),
    ([top, k, m], x) => top.div(k.mul(x.sub(m)).neg().exp().add(1)),
    [5, 1.4, 3], [3, 1, 2], [0, 8],
  ],
  power: [([a, b]) => (x) => a * x ** b, ([a, b], x) => a.mul(V.pow(x, b)), [2, 0.6], [1, 1], [0.1, 20]],
  saturation: [([v, k]) => (x) => (v * x) / (k + x), ([v, k], x) => v.mul(x).div(k.add(x)), [4, 2], [1, 1], [0.1, 20]],
  logarithm: [([a, b]) => (x) => a + b * Math.log(x), ([a, b], x) => a.add(b.mul(x.log())), [2, 0.6], [1, 1], [0.1, 20]],
  rational: [
    ([a, b, c, d]) => (x) => (a + b * x + c * x * x) / (1 + d * x),
    ([a, b, c, d], x) => a.add(b.mul(x)).add(c.mul(V.square(x))).div(d.mul(x).add(1)),
    [1, 2, 0.3, 0.2], [1, 1, 1, 1], [0, 5],
  ],
  longRational: [
    (b) => (x) => (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1 + x * (b[4] + x * (b[5] + x * b[6]))),
    (b, x) => b[3].mul(x).add(b[2]).mul(x).add(b[1]).mul(x).add(b[0]).div(b[6].mul(x).add(b[5]).mul(x).add(b[4]).mul(x).add(1)),
    [1, 2, 0.3, 0.1, 0.2, 0.05, 0.01], [1, 1, 0.1, 0.1, 0.1, 0.1, 0.1], [0, 5],
  ],
  threeDecays: [
    (b) => (x) => sum(3, (k) => b[2 * k] * Math.exp(-b[2 * k + 1] * x)),
    (b, x) => [0, 1, 2].map((k) => b[2 * k].mul(b[2 * k + 1].mul(x).neg().exp())).reduce((total, part) => total.add(part)),
    [0.1, 1, 0.9, 3, 1.6, 5], [1.2, 0.3, 5.6, 5.5, 6.5, 7.6], [0, 1.2],
  ],
  overLine: [
    ([a, b, c]) => (x) => Math.exp(-a * x) / (b + c * x),
    ([a, b, c], x) => a.mul(x).neg().exp().div(b.add(c.mul(x))),
    [0.2, 0.01, 0.01], [0.1, 0.02, 0.02], [0.5, 6],
  ],
});

/** Data of a curve with noise of the given size. */
const dataOf = ([model, , truth, , [from, to]], count, size) => {
  const x = range(count, from, to);
  return { x, y: x.map((place, i) => model(truth)(place) + size * noise(i)) };
};

async function fits({ fit, V, loss }) {
  for (const curve of Object.values(curves(V))) {
    const [numbers, values, truth, start] = curve;
    for (const [count, size] of [[60, 0.01], [40, 0], [truth.length, 0.01], [500, 0.05], [513, 0.05]]) {
      const data = dataOf(curve, count, size);
      for (const model of [numbers, values]) (await fit(model, data, { initialValues: start })).report();
    }
    // The start is the minimum, and its neighbourhood in digits that rounding hides.
    for (const near of [0, 1e-12, 1e-7]) {
      const initialValues = truth.map((value) => value * (1 + near));
      for (const model of [numbers, values]) await settled(fit(model, dataOf(curve, 30, 0), { initialValues }));
    }
    const data = dataOf(curve, 60, 0.02);
    const outliers = { x: data.x, y: data.y.map((y, i) => (i % 17 === 5 ? y + 50 : y)) };
    const low = truth.map((value) => value - 0.1 * Math.abs(value));
    const high = truth.map((value, k) => (k === 0 ? value - 0.02 * Math.abs(value) : value + Math.abs(value)));
    for (const model of [numbers, values]) {
      const run = async (measured, options) => (await fit(model, measured, { initialValues: start, ...options })).report();
      const losses = [loss.huber(0.05), loss.softL1(0.05), loss.cauchy(0.05), loss.arctan(0.05), loss.tukey(5), loss.scaled(loss.huber(0.1), 2)];
      for (const robust of losses) await run(outliers, { loss: robust });
      await run(outliers, { loss: loss.graduated('geman-mcclure', 0.1) });
      await run(data, { minValues: low, maxValues: high });
      await run(data, { minValues: low, maxValues: high, loss: loss.huber(0.05) });
      await run(data, { weights: data.x.map((_, i) => (i % 5 === 0 ? 0 : 1 + (i % 3))), absoluteSigma: true });
      await run(data, { maxIterations: 2 });
      for (const differences of ['forward', 'ridders']) if (model === numbers) await run(data, { differences });
      for (const trustRegion of ['dogleg', 'levenberg-marquardt']) await run(data, { trustRegion });
    }
  }
  // What the arithmetic and the data may do to a fit: undetermined parameters, rounded results, shifted places, tiny and large units, plain functions that
  // fail.
  const x = range(50, 0, 5);
  const decayed = x.map((t) => 3 * Math.exp(-0.7 * t));
  await settled(fit(([a, b, k]) => (t) => a * b * Math.exp(-k * t), { x, y: decayed }, { initialValues: [1, 1, 1] }));
  await settled(fit(([a, b, k], t) => a.mul(b).mul(k.mul(t).neg().exp()), { x, y: decayed }, { initialValues: [1, 1, 1] }));
  await settled(fit(([a, k]) => (t) => Math.round(1e4 * a * Math.exp(-k * t)) / 1e4, { x, y: decayed }, { initialValues: [1, 1] }));
  await settled(fit(([a, k]) => (t) => Math.fround(a * Math.exp(-k * t)), { x, y: decayed }, { initialValues: [1, 1] }));
  for (const scale of [1e-8, 1e8]) {
    await settled(fit(([a, k], t) => a.mul(k.mul(t).neg().exp()), { x: x.map((t) => t / scale), y: decayed.map((y) => y * scale) }, { initialValues: [scale, scale] }));
  }
  await settled(fit(([a, m, s], t) => a.mul(V.square(t.sub(m).div(s)).neg().exp()), { x: x.map((t) => t + 1.7e9), y: x.map((t) => Math.exp(-((t - 2) ** 2))) }, { initialValues: [2, 1.7e9 + 3, 2] }));
  await settled(fit(([a, b]) => (t) => Math.log(a) + b * t, { x, y: x }, { initialValues: [-1, 1] }), 'non-finite');
  await settled(fit(([a, b], t) => a.log().add(b.mul(t)), { x, y: x }, { initialValues: [-1, 1] }), 'non-finite');
  await settled(fit(([a, b], t) => a.log().add(b.mul(t)), { x, y: x }, { initialValues: [1e-3, 1] }));
  await settled(fit(([a]) => (t) => { if (t > 3) throw new Error('no value'); return a; }, { x, y: x }, { initialValues: [1] }), 'non-finite');
  await settled(fit(([a]) => (t) => (t > 3 ? NaN : a), { x, y: x }, { initialValues: [1] }), 'non-finite');
  await settled(fit(([a]) => (t) => 1e200 * a * t, { x, y: x }, { initialValues: [1] }), 'non-finite');
  await settled(fit(([a], t) => a.mul(1e200).mul(t), { x, y: x }, { initialValues: [1] }), 'non-finite');
  const jacobianFunction = () => () => { throw new Error('no derivative'); };
  await settled(fit(([a]) => (t) => a * t, { x, y: x }, { initialValues: [1], jacobianFunction }), 'non-finite');
  await settled(fit(([a, k]) => (t) => a * Math.exp(-k * t), { x, y: decayed }, { initialValues: [1, 1], jacobianFunction: ([a, k]) => (t) => [Math.exp(-k * t), -a * t * Math.exp(-k * t)] }));
  // Every elementary function, so that each has its derivative and its code.
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(V.W(1)))) {
    const model = ([a, b], t) => elementary(a.mul(t.mul(0.1).add(0.1)), name).add(b.mul(elementary(t, name)));
    await settled(fit(model, { x: x.slice(0, 5), y: decayed.slice(0, 5) }, { initialValues: [1, 1], maxIterations: 3 }), 'non-finite');
  }
  await settled(fit(([a]) => () => a, { x, y: x.map(() => 2) }, { initialValues: [1] }));
  // Twelve peaks: as many parameters as curve fits have.
  const places = range(200, 0, 60);
  const peaks = (p) => (t) => sum(12, (k) => p[3 * k] * Math.exp(-(((t - p[3 * k + 1]) / p[3 * k + 2]) ** 2)));
  const truth = Array.from({ length: 36 }, (_, k) => [1 + 0.1 * k, 2.5 + 5 * Math.floor(k / 3), 1][k % 3]);
  const start = truth.map((value, k) => value + 0.2 * noise(k));
  const measured = { x: places, y: places.map((t, i) => peaks(truth)(t) + 0.01 * noise(i)) };
  await settled(fit(peaks, measured, { initialValues: start }));
  await settled(fit((p, t) => Array.from({ length: 12 }, (_, k) => p[3 * k].mul(V.square(t.sub(p[3 * k + 1]).div(p[3 * k + 2])).neg().exp())).reduce((a, b) => a.add(b)), measured, { initialValues: start }));
  await settled(fit(({ a, b }, [u, v]) => a.mul(u).add(b.mul(v)), { x: places.map((t) => [t, Math.cos(t)]), y: places.map((t) => t + 2 * Math.cos(t)) }, { initialValues: { a: 0, b: 0 } }));
}

async function problems({ Problem, solve, V, loss }) {
  const times = range(500, 0, 10);
  const curve = (options = {}) => {
    const problem = new Problem();
    const values = problem.parameters('curve', { dim: 2, values: [1, 1] });
    problem.residuals('decay', {
      inputs: { c: values.shared(), t: problem.data(times), y: problem.data(times.map((t, i) => 3 * Math.exp(-0.7 * t) + 0.01 * noise(i))) },
      residual: ({ c, t, y }) => c.x.mul(c.y.mul(t).neg().exp()).sub(y),
      ...options,
    });
    return [problem, values];
  };
  for (const options of [{}, { loss: loss.huber(0.02) }, { loss: loss.cauchy(0.02) }, { weight: 3 }]) report(await solve(curve(options)[0]));
  report(await solve(curve()[0], { linearSolver: 'dense-qr' }));
  report(await solve(curve()[0], { precision: 'f32x2' }));
  const bounded = curve();
  bounded[1].setBounds({ lower: [0, 0.8], upper: [10, 5] });
  report(await solve(bounded[0]));
  const held = curve();
  held[1].setConstant([0], true, [1]);
  report(await solve(held[0]));
  // Circles, spheres, points by distances, a rotation, a rigid motion: few parameters, residuals of several numbers.
  const angles = range(30, 0, 6);
  for (const centre of [0, 1e4]) {
    const problem = new Problem();
    const circle = problem.parameters('circle', { dim: 3, values: [0, 0, 1] });
    const points = problem.data(angles.flatMap((angle, i) => [centre + 5 * Math.cos(angle) + 0.01 * noise(i), 5 * Math.sin(angle)]), 2);
    problem.residuals('distance', { inputs: { c: circle.shared(), p: points }, residual: ({ c, p }) => V.sqrt(V.square(p.x.sub(c.x)).add(V.square(p.y.sub(c.y)))).sub(c.z) });
    report(await solve(problem));
  }
  const unknown = new Problem();
  const points = unknown.parameters('points', { dim: 2, values: [0, 0, 1, 0, 0, 1] });
  unknown.residuals('length', { inputs: { a: points.at([0, 1, 2]), b: points.at([1, 2, 0]), d: unknown.data([3, 4, 5]) }, residual: ({ a, b, d }) => a.distance(b).sub(d) });
  report(await solve(unknown));
  const turned = new Problem();
  const rotation = turned.rotations('rotation', { dim: 3, values: [1, 0, 0, 0] });
  const from = angles.flatMap((angle) => [Math.cos(angle), Math.sin(angle), 0.3 * angle]);
  turned.residuals('turned', {
    inputs: { r: rotation.shared(), p: turned.data(from, 3), q: turned.data(from.map((_, i) => from[i - (i % 3) + ((i + 1) % 3)] + 0.01 * noise(i)), 3) },
    residual: ({ r, p, q }) => r.act(p).sub(q),
  });
  report(await solve(turned));
  // Several arrays and blocks, one of which nothing reads; a chain of points; many samples.
  const several = new Problem();
  const [heights, rates] = [several.parameters('heights', { dim: 1, values: [1, 2] }), several.parameters('rates', { dim: 1, values: [1] })];
  several.parameters('unread', { dim: 3, values: [1, 2, 3] });
  for (const k of [0, 1]) {
    several.residuals(`decay ${k}`, {
      inputs: { a: heights.at([k, k, k, k]), b: rates.shared(), t: several.data([0, 1, 2, 3]), y: several.data([3, 2, 1, 0.5]) },
      residual: ({ a, b, t, y }) => a.mul(b.mul(t).neg().exp()).sub(y),
      weights: [1, 1, 2, 0],
    });
  }
  report(await solve(several));
  const chain = new Problem();
  const links = chain.parameters('links', { dim: 2, values: range(40, 0, 9).map((place, k) => place + 0.1 * noise(k)) });
  const first = Array.from({ length: 19 }, (_, k) => k);
  chain.residuals('link', { inputs: { a: links.at(first), b: links.at(first.map((k) => k + 1)) }, residual: ({ a, b }) => a.distance(b).sub(1) });
  chain.residuals('place', { inputs: { a: links.at([0, 19]), p: chain.data([0, 0, 5, 5], 2) }, residual: ({ a, p }) => a.sub(p) });
  report(await solve(chain));
  const rosenbrock = new Problem();
  const place = rosenbrock.parameters('valley’s place', { dim: 2, values: [-1.2, 1] });
  rosenbrock.residuals('valley', { inputs: { p: place.shared() }, residual: ({ p }) => [p.y.sub(V.square(p.x)).mul(10), V.sub(1, p.x)] });
  report(await solve(rosenbrock));
  const plain = new Problem();
  const factors = plain.parameters('factors', { dim: 2, values: [1, 1] });
  plain.residuals('plain', {
    inputs: { c: factors.shared() },
    outputs: 20,
    evaluate: ({ c }, out) => out.forEach((_, i) => void (out[i] = c[0] * Math.exp(-c[1] * i) - Math.exp(-0.5 * i))),
  });
  report(await solve(plain));
  // What has no finite value at the start, and what no parameter determines.
  const wrong = new Problem();
  const number = wrong.parameters('number', { dim: 1, values: [-1] });
  wrong.residuals('root', { inputs: { n: number.shared() }, residual: ({ n }) => n.sqrt() });
  await settled(solve(wrong), 'non-finite');
}

/** Prints a result, as applications do. */
function report(result) {
  result.report();
  result.table?.();
}

/** The method of a Value, without or with an argument, where it gives a Value; else the Value. */
function elementary(value, name) {
  for (const more of [[], [0.5]]) {
    try {
      const result = name === 'constructor' ? value : value[name](...more);
      if (result instanceof value.constructor) return result;
    } catch {
      // It takes something else.
    }
  }
  return value;
}

/** Waits for a call, and prints its result. `code` is that of the error with which it may end. */
async function settled(promise, code) {
  try {
    report(await promise);
  } catch (error) {
    if (error?.code !== code) throw error;
  }
}

/** Runs all uses. @param residua the package */
export async function run(residua) {
  await fits(residua);
  await problems(residua);
  // On a page with WebGPU, which small problems do not ask for a device.
  Object.defineProperty(globalThis, 'navigator', { value: { gpu: {} }, configurable: true });
  await problems(residua);
}
