import { Problem, solve } from 'residua';

// A chain of links with equal lengths, held at both ends: the least height of all its points.
const count = 25, length = 0.1;
const start = Array.from({ length: count }, (_, i) => [i / (count - 1), 0.2 * Math.sin(i)]).flat();
start.splice(0, 2, 0, 0);
start.splice(-2, 2, 1, 0.5);

const problem = new Problem();
const points = problem.parameters('points', { dim: 2, values: start });
points.setConstant([0, count - 1]);
const all = Array.from({ length: count }, (_, i) => i);
problem.residuals('height', { inputs: { p: points.at(all) }, residual: ({ p }) => p.y });
problem.equalities('links', {
  inputs: { ends: points.at(all.slice(1).flatMap((i) => [i - 1, i]), 2) },
  constraint: ({ ends: [a, b] }) => a.sub(b).sqrMagnitude.sub(length ** 2),
});
const result = await solve(problem, { method: 'lbfgs', objective: 'sum' });

const places = Array.from({ length: count }, (_, i) => points.values().slice(2 * i, 2 * i + 2));
plot({ x: places.map(([x]) => x), y: places.map(([, y]) => y), curve: places, equalAxes: true });
console.log(result.report());
