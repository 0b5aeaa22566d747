// Start values of curves: fits from them end where fits from the truth do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, fit, startValues } from '../../pkg-template/dist/index.js';
import { seededNoise } from '../../www/problems/seeded-noise.js';

await init();

/** For each curve its function, and made parameters for samples from `a` to `b`. */
const CURVES = {
  gaussian: {
    curve: ({ height, center, sigma, offset }) => (x) => height * Math.exp(-0.5 * ((x - center) / sigma) ** 2) + offset,
    make: (random, a, b) => ({ height: random.sign() * random.between(1, 10), center: random.between(0.95 * a + 0.05 * b, 0.05 * a + 0.95 * b), sigma: (b - a) * random.power(0.02, 0.3), offset: random.between(-10, 10) }),
  },
  lorentzian: {
    curve: ({ height, center, gamma, offset }) => (x) => height / (1 + ((x - center) / gamma) ** 2) + offset,
    make: (random, a, b) => ({ height: random.sign() * random.between(1, 10), center: random.between(0.95 * a + 0.05 * b, 0.05 * a + 0.95 * b), gamma: (b - a) * random.power(0.02, 0.2), offset: random.between(-10, 10) }),
  },
  exponential: {
    curve: ({ amplitude, rate, offset }) => (x) => amplitude * Math.exp(rate * x) + offset,
    make: (random, a, b) => ({ amplitude: random.sign() * random.between(1, 10), rate: (random.sign() * random.power(0.5, 8)) / (b - a), offset: random.between(-10, 10) }),
    range: (random) => [random.between(-1, 1), random.power(1, 3)],
  },
  logistic: {
    curve: ({ height, center, width, offset }) => (x) => height / (1 + Math.exp((center - x) / width)) + offset,
    make: (random, a, b) => ({ height: random.sign() * random.between(1, 10), center: random.between(0.8 * a + 0.2 * b, 0.2 * a + 0.8 * b), width: (b - a) * random.power(0.01, 0.15), offset: random.between(-10, 10) }),
  },
  sine: {
    curve: ({ amplitude, frequency, phase, offset }) => (x) => amplitude * Math.sin(2 * Math.PI * frequency * x + phase) + offset,
    // Fewer than half as many periods as samples.
    make: (random, a, b, count) => ({ amplitude: random.between(1, 10), frequency: random.between(0.6, Math.min(0.4 * count, 60)) / (b - a), phase: random.between(-3, 3), offset: random.between(-10, 10) }),
  },
};

for (const [name, { curve, make, range = (random) => [random.between(-100, 100), random.power(0.01, 100)] }] of Object.entries(CURVES)) {
  test(`fits of ${name} from start values end where fits from the truth do`, async () => {
    for (const count of [60, 700]) {
      for (const noise of [0, 0.05]) {
        for (let seed = 1; seed <= 5; seed++) {
          const { uniform, normal } = seededNoise(1000 * seed + count);
          const random = {
            between: (low, high) => low + (high - low) * uniform(),
            power: (low, high) => low * (high / low) ** uniform(),
            sign: () => (uniform() < 0.5 ? -1 : 1),
          };
          const [first, span] = range(random);
          const truth = make(random, first, first + span, count);
          // In any order, at unequal distances.
          const x = Array.from({ length: count }, (_, i) => first + (span * (((11 * i) % count) + uniform())) / count);
          const clean = x.map(curve(truth));
          const height = Math.max(...clean) - Math.min(...clean);
          const data = { x, y: clean.map((y) => y + noise * height * normal()) };
          const start = startValues[name](x, data.y);
          assert.deepEqual(Object.keys(start), Object.keys(truth));
          const options = { backend: 'cpu' };
          const [found, best] = [await fit(curve, data, { ...options, initialValues: start }), await fit(curve, data, { ...options, initialValues: truth })];
          // Both ends are within a promise of 1e-4 σ² of the minimum; without noise, of what the tolerance of steps leaves.
          const most = best.parameterError * (1 + 1e-3) + count * (1e-10 * height) ** 2;
          assert.ok(found.parameterError <= most, `${count} samples, noise ${noise}, seed ${seed}: ${found.parameterError} for ${best.parameterError} from ${JSON.stringify(start)}, truth ${JSON.stringify(truth)}`);
        }
      }
    }
  });
}

test('circles and ellipses through points of an arc are theirs to rounding, and near them with noise', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const { uniform, normal } = seededNoise(seed);
    const [x, y, radius, arc, turn] = [1e3 * normal(), 1e3 * normal(), 10 ** (3 * uniform() - 1), 1.5 + 4 * uniform(), 6 * uniform()];
    const [ratio, angle] = [0.15 + 0.8 * uniform(), 3 * (uniform() - 0.5)];
    const places = Array.from({ length: 40 }, (_, i) => turn + (arc * i) / 40);
    for (const noise of [0, 0.002]) {
      const on = (along, across) => places.map((t) => [along(t), across(t)].map((each) => radius * (each + noise * normal())));
      const circle = on(Math.cos, Math.sin);
      const found = startValues.circle(circle.map(([a]) => x + a), circle.map(([, b]) => y + b));
      // Without noise rounding of places at 1e3 of a radius of 0.1 counts; with noise an arc of 1.5 multiplies errors by some 10.
      const tolerance = noise === 0 ? 1e-9 : 20 * noise;
      for (const [is, right] of [[found.x, x], [found.y, y], [found.radius, radius]]) assert.ok(Math.abs(is - right) <= tolerance * radius, `circle ${seed}: ${JSON.stringify(found)}`);
      if (arc < 3) continue;
      const ellipse = on(Math.cos, (t) => ratio * Math.sin(t)).map(([a, b]) => [x + a * Math.cos(angle) - b * Math.sin(angle), y + a * Math.sin(angle) + b * Math.cos(angle)]);
      const near = startValues.ellipse(ellipse.map(([a]) => a), ellipse.map(([, b]) => b));
      const errors = [near.x - x, near.y - y, near.semiMajor - radius, near.semiMinor - ratio * radius, radius * (1 - ratio) * Math.sin(near.angle - angle)];
      assert.ok(errors.every((error) => Math.abs(error) <= (noise === 0 ? 1e-8 : 40 * noise) * radius), `ellipse ${seed}: ${JSON.stringify(near)}, ${[x, y, radius, ratio * radius, angle]}`);
    }
  }
});

test('samples that tell no curve are refused', () => {
  const line = Array.from({ length: 9 }, (_, i) => i);
  const same = new Float64Array(9).fill(2);
  const curves = ['gaussian', 'lorentzian', 'exponential', 'logistic', 'sine'];
  for (const name of [...curves, 'circle', 'ellipse']) {
    const start = startValues[name];
    for (const [x, y, message] of [
      [line, line.slice(1), /: y: got 8 numbers; takes 9, one for each of x$/],
      [[1, 2], [1, 2], /: x: got 2 numbers; takes at least [345]$/],
      [[...line.slice(1), NaN], line, /: x\[8\]: got NaN/],
      [line, [...line.slice(1), Infinity], /: y\[8\]: got Infinity/],
      ['x', line, /: x: got /],
    ]) assert.throws(() => start(x, y), { code: 'invalid-argument', message }, name);
    assert.throws(() => start(same, same), { code: 'invalid-argument', message: /: x: got / }, name);
  }
  for (const name of ['circle', 'ellipse']) assert.throws(() => startValues[name](line, line), { code: 'invalid-argument', message: /: x: got points on (a line|no ellipse); takes points on an arc/ });
  assert.throws(() => startValues.exponential(line.map((x) => x + 1e6), line.map((x) => Math.exp(-x))), { code: 'invalid-argument', message: /amplitude at x = 0 is (Infinity|0); takes x nearer to 0/ });
  // What is constant has a curve without height.
  for (const name of curves) assert.ok(Object.values(startValues[name](line, same)).every(Number.isFinite), name);
});
