// The error function in residuals on the CPU: values, derivatives, and a fit of the diffusion of a step, of which it is the profile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';

const { Problem, solve, V } = await import('residua');

// By mpmath, rounded to double precision.
const ERF = [
  [0, 0], [1e-9, 1.1283791670955127e-9], [0.25, 0.27632639016823696], [-0.5, -0.5204998778130465], [0.9375, 0.8151024010343998],
  [1, 0.8427007929497149], [-1.5, -0.9661051464753108], [2.5, 0.999593047982555], [3.75, 0.9999998862727434], [7, 1], [Infinity, 1], [-Infinity, -1],
];

test('values are right to the last place but one, and derivatives are 2/√π e^−x²', async () => {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 1, values: ERF.map(([x]) => (Number.isFinite(x) ? x : 10 * Math.sign(x))) });
  problem.residuals('erf', { inputs: { x: points.at(ERF.map((_, k) => k)) }, residual: ({ x }) => V.erf(x) });
  const { values, gradient } = await onCpu(problem, async (functions) => ({ values: await functions.evaluate(), ...(await functions.evaluateSumWithGradient()) }));
  ERF.forEach(([x, expected], k) => assert.ok(Math.abs(values[k] - expected) <= 2 ** -52 * Math.abs(expected), `erf ${x} is ${values[k]}, not ${expected}`));
  ERF.forEach(([given], k) => {
    const x = Number.isFinite(given) ? given : 10 * Math.sign(given);
    const slope = (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x);
    // Rounding of the square is magnified by itself.
    assert.ok(Math.abs(gradient[k] - slope) <= 2 ** -52 * (4 + 2 * Math.min(x * x, 100)) * slope + 1e-43, `at ${x}: ${gradient[k]}, not ${slope}`);
  });
});

test('numbers have the same error function as residuals', () => {
  for (const [x, expected] of ERF) assert.ok(Math.abs(V.C(x).erf().data - expected) <= 2 ** -52 * Math.abs(expected), `erf ${x}`);
});

test('a fit of a diffusion profile finds what made it', async () => {
  const [height, centre, width] = [2.5, 0.4, 0.7];
  const places = Array.from({ length: 41 }, (_, k) => -2 + k / 10);
  const profile = (x) => {
    // ½ erfc by its integral: Simpson's rule over many steps is independent of the library.
    const z = (x - centre) / width;
    const steps = 2000;
    let sum = 0;
    for (let k = 0; k <= steps; k++) sum += (k === 0 || k === steps ? 1 : k % 2 ? 4 : 2) * Math.exp(-(((z * k) / steps) ** 2));
    return 0.5 * height * (1 + ((2 / Math.sqrt(Math.PI)) * z * sum) / (3 * steps));
  };
  const problem = new Problem();
  const shape = problem.parameters('shape', { dim: 3, values: [1, 0, 1] });
  problem.residuals('profile', {
    inputs: { shape: shape.shared(), x: problem.data(places), y: problem.data(places.map(profile)) },
    residual: ({ shape: [h, c, w], x, y }) => x.sub(c).div(w).erf().add(1).mul(h).mul(0.5).sub(y),
  });
  const { x, success } = await solve(problem, { backend: 'cpu' });
  assert.ok(success);
  // The profile has rounding errors of some 1e-15.
  [height, centre, width].forEach((value, k) => assert.ok(Math.abs(x[k] - value) < 1e-9, `${x[k]}, not ${value}`));
});
