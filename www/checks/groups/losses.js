/** Robust losses: cost and gradient against their formulas, on both engines. */
import { loss, Problem } from 'residua';
import { relativeDifference } from '../assertions.js';
import { onEach } from '../define.js';

/** ρ(s) and ρ′(s) of s = ‖r‖², as Ceres defines them. */
const LOSSES = [
  ['squared', () => loss.squared(), (s) => [s, 1]],
  ['huber', () => loss.huber(1.5), (s) => (s <= 2.25 ? [s, 1] : [3 * Math.sqrt(s) - 2.25, 1.5 / Math.sqrt(s)])],
  ['softL1', () => loss.softL1(1.5), (s) => [4.5 * (Math.sqrt(1 + s / 2.25) - 1), 1 / Math.sqrt(1 + s / 2.25)]],
  ['cauchy', () => loss.cauchy(1.5), (s) => [2.25 * Math.log1p(s / 2.25), 1 / (1 + s / 2.25)]],
  ['arctan', () => loss.arctan(1.5), (s) => [1.5 * Math.atan(s / 1.5), 1 / (1 + (s / 1.5) ** 2)]],
  ['tukey', () => loss.tukey(3), (s) => (s <= 9 ? [3 * (1 - (1 - s / 9) ** 3), (1 - s / 9) ** 2] : [3, 0])],
  ['tolerant', () => loss.tolerant(2, 0.5), (s) => [0.5 * (Math.log1p(Math.exp((s - 2) / 0.5)) - Math.log1p(Math.exp(-4))), 1 / (1 + Math.exp((2 - s) / 0.5))]],
  ['scaled', () => loss.scaled(loss.cauchy(1.5), 3), (s) => [6.75 * Math.log1p(s / 2.25), 3 / (1 + s / 2.25)]],
];

const COUNT = 150;
const WEIGHT = 2;

/** Residuals (x, x·y) of points around the origin: two outputs per instance, which enter the loss together. */
function problemOf(robust) {
  const problem = new Problem();
  const values = Float64Array.from({ length: 2 * COUNT }, (_, i) => Math.fround(3 * Math.sin(1.3 * i + 0.5)));
  const points = problem.parameters('points', { dim: 2, values });
  const block = problem.residuals('r', {
    inputs: { p: points.at(Uint32Array.from({ length: COUNT }, (_, i) => i)) },
    residual: ({ p }) => [p.x, p.x.mul(p.y)],
    loss: robust,
    weight: WEIGHT,
  });
  return { problem, block, values };
}

function reference(rho, values) {
  let cost = 0;
  const gradient = new Float64Array(2 * COUNT);
  for (let i = 0; i < COUNT; i++) {
    const [x, y] = [values[2 * i], values[2 * i + 1]];
    const [value, slope] = rho(x * x + (x * y) ** 2);
    cost += 0.5 * WEIGHT * value;
    gradient[2 * i] = WEIGHT * slope * (x + x * y * y);
    gradient[2 * i + 1] = WEIGHT * slope * x * y * x;
  }
  return { cost, gradient };
}

const LIMITS = {
  gpu: { cost: 1e-5, gradient: 1e-4, because: 'the package’s promise for single precision, relative to the largest entry' },
  cpu: { cost: 1e-13, gradient: 1e-13, because: 'some dozens of roundings of double precision, 1.1e-16 each' },
};

async function agrees(check, functions, rho, values, name) {
  const { value, gradient } = await functions.evaluateCostWithGradient();
  const expected = reference(rho, values);
  const { because, ...limits } = LIMITS[check.backend];
  check.close(value, expected.cost, { within: limits.cost * expected.cost, because }, `the cost of ${name}`);
  check.below(relativeDifference(gradient, expected.gradient), limits.gradient, because, `the gradient of ${name}`);
}

export const group = {
  id: 'losses',
  title: 'Robust losses',
  about: 'Cost ½ Σ weight·ρ(‖r‖²) and its gradient compared with the formulas of each loss.',
  checks: [
    ...LOSSES.flatMap(([name, make, rho]) =>
      onEach(`${name}: cost and gradient agree with its formula`, async (check) => {
        const { problem, values } = problemOf(make());
        await agrees(check, await check.compile(problem), rho, values, name);
      })),

    ...onEach('changing a loss, a weight or whether a block is enabled does not recompile', async (check) => {
      const { problem, block, values } = problemOf(loss.squared());
      const functions = await check.compile(problem);
      const texts = JSON.stringify(functions.kernels());
      for (const [name, make, rho] of LOSSES) {
        block.setLoss(make());
        await agrees(check, functions, rho, values, name);
      }
      check.equal(JSON.stringify(functions.kernels()), texts, 'the kernels');
      block.setLoss(loss.squared());
      const { value } = await functions.evaluateCostWithGradient();
      block.setWeight(2 * WEIGHT);
      check.equal((await functions.evaluateCostWithGradient()).value, 2 * value, 'a doubled weight is exact');
      block.setEnabled(false);
      const off = await functions.evaluateCostWithGradient();
      check.equal(off.value, 0, 'a block that does not count');
      check.ok(off.gradient.every((entry) => entry === 0), 'its gradient is 0');
    }),
  ],
};
