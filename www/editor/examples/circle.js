import { loss, Problem, solve } from 'residua';

// Points of a part of a circle, and three that are wrong.
const x = [], y = [];
for (let i = 0; i < 40; i++) {
  const angle = 0.4 + i / 9, r = 2 + 0.05 * Math.sin(9 * i * i);
  x.push(i % 13 === 9 ? 1.5 : 1 + r * Math.cos(angle));
  y.push(i % 13 === 9 ? -1 : -0.5 + r * Math.sin(angle));
}

// The distance of each point to the circle: centre and radius are unknown.
const problem = new Problem();
const circle = problem.parameters('circle', { dim: 3, values: [0, 0, 1] });
problem.residuals('distances', {
  inputs: { c: circle.shared(), x: problem.data(x), y: problem.data(y) },
  residual: ({ c: { x: cx, y: cy, z: radius }, x, y }) =>
    x.sub(cx).square().add(y.sub(cy).square()).sqrt().sub(radius),
  loss: loss.cauchy(0.1),
});
const result = await solve(problem);

const [cx, cy, radius] = circle.values();
const curve = Array.from({ length: 101 }, (_, i) => {
  const angle = (2 * Math.PI * i) / 100;
  return [cx + radius * Math.cos(angle), cy + radius * Math.sin(angle)];
});
plot({ x, y, curve, equalAxes: true });
console.log(result.report());
