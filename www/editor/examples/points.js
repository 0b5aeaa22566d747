import { GpuCompiledFunctions, levenbergMarquardt, Problem } from 'residua';

// The model: an outline with its normals. The scan: a part of it, turned by 0.3 and moved.
const model = Array.from({ length: 400 }, (_, i) => {
  const t = (Math.PI * i) / 200, r = 1 + 0.25 * Math.cos(3 * t), dr = -0.75 * Math.sin(3 * t);
  const [nx, ny] = [dr * Math.sin(t) + r * Math.cos(t), -dr * Math.cos(t) + r * Math.sin(t)];
  return { p: [r * Math.cos(t), r * Math.sin(t)], n: [nx, ny].map((c) => c / Math.hypot(nx, ny)) };
});
const scan = model.filter((_, i) => i % 5 === 0 && i < 300).map(({ p: [x, y] }) =>
  [Math.cos(0.3) * x - Math.sin(0.3) * y + 0.2, Math.sin(0.3) * x + Math.cos(0.3) * y - 0.1]);

// The distance of each point to the line through its nearest place.
const problem = new Problem();
const pose = problem.poses('pose', { dim: 2, values: [0, 0, 0] });
const lines = problem.residuals('lines', {
  inputs: {
    pose: pose.shared(), p: problem.data(scan.flat(), 2),
    q: problem.data(new Float64Array(2 * scan.length), 2), n: problem.data(new Float64Array(2 * scan.length), 2),
  },
  residual: ({ pose, p, q, n }) => pose.act(p).sub(q).dot(n),
});
const placed = ([angle, tx, ty]) => scan.map(([x, y]) =>
  [Math.cos(angle) * x - Math.sin(angle) * y + tx, Math.sin(angle) * x + Math.cos(angle) * y + ty]);
const away = ([x, y], { p }) => (p[0] - x) ** 2 + (p[1] - y) ** 2;
const nearest = (point) => model.reduce((best, each) => (away(point, each) < away(point, best) ? each : best));

// Before each iteration the nearest places are sought anew; nothing is compiled again.
const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
const result = await levenbergMarquardt(functions, {
  beforeIteration: async ({ x }) => {
    const found = placed(await x).map(nearest);
    lines.setData('q', found.flatMap(({ p }) => p));
    lines.setData('n', found.flatMap(({ n }) => n));
  },
});

const points = placed(pose.values());
plot({ x: points.map(([x]) => x), y: points.map(([, y]) => y), curve: [...model, model[0]].map(({ p }) => p), equalAxes: true });
console.log('Turned by', pose.values()[0].toFixed(3));
console.log(result.report());
functions.dispose();
