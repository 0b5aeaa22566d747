import { Problem, rungeKutta4, solve } from 'residua';

// Hares of 21 years, in thousands, and the lynxes that ate them.
const hares = [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1,
  40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7];
const lynxes = [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4,
  8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6];
const years = hares.map((_, year) => year);

// The equations of Lotka and Volterra: four rates and the start are unknown.
const problem = new Problem();
const rates = problem.parameters('rates', { dim: 4, values: [0.55, 0.028, 0.84, 0.026] });
const start = problem.parameters('start', { dim: 2, values: [30, 4] });
problem.residuals('years', {
  inputs: { rates: rates.shared(), start: start.shared(), seen: problem.data([...hares, ...lynxes], 42) },
  residual: ({ rates: [a, b, c, d], start: [x0, y0], seen }) => {
    const derivative = ({ x, y }) => ({ x: a.sub(b.mul(y)).mul(x), y: d.mul(x).sub(c).mul(y) });
    const states = rungeKutta4(derivative, { x: x0, y: y0 }, { to: years.slice(1), steps: 100 });
    return [{ x: x0, y: y0 }, ...states].flatMap(({ x, y }, k) => [x.sub(seen[k]), y.sub(seen[21 + k])]);
  },
});
const result = await solve(problem);

// The same equations in numbers, for the curve of the hares.
const [a, b, c, d] = rates.values(), step = 0.002;
let [x, y] = start.values();
const curve = [];
for (let t = 0; t <= 20; t += step) {
  if (curve.length < t * 20) curve.push([t, x]);
  [x, y] = [x + step * (a - b * y) * x, y + step * (d * x - c) * y];
}
plot({ x: years, y: hares, curve });
console.log('Rates', rates.values());
console.log(result.report());
