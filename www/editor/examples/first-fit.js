import { Problem, solve } from 'residua';

const times = Float64Array.from({ length: 500 }, (_, i) => i / 50);
const problem = new Problem();
const curve = problem.parameters('curve', { dim: 2, values: [1, 1] });
problem.residuals('decay', {
  inputs: { c: curve.shared(), t: problem.data(times), y: problem.data(times.map((t) => 3 * Math.exp(-0.7 * t))) },
  residual: ({ c, t, y }) => c.x.mul(c.y.mul(t).neg().exp()).sub(y),
});
console.log((await solve(problem)).report());
console.log(curve.values()); // → 3.000, 0.700
