import { Problem, solve } from 'residua';

const [width, height] = [96, 64];
const scene = (x, y) => Math.sin(x / 7) * Math.cos(y / 9) + 0.3 * Math.sin((x + 2 * y) / 11);
const draw = (of) => Float64Array.from({ length: width * height }, (_, k) => of(k % width, Math.floor(k / width)));
// The second picture is the first one, turned, moved and brightened.
const first = draw(scene);
const second = draw((x, y) => 1.2 * scene(1.01 * x - 0.03 * y + 1.5, 0.02 * x + 0.98 * y - 0.7) + 0.1);

// Each pixel of the second picture, away from its edge, is an instance that looks up the first one.
const problem = new Problem();
const picture = problem.grid('picture', { size: [width, height], values: first, prefilter: true });
const map = problem.parameters('map', { dim: 3, values: [1, 0, 0, 0, 1, 0] });
const tone = problem.parameters('tone', { dim: 2, values: [1, 0] });
const inner = [];
for (let y = 8; y < height - 8; y++) for (let x = 8; x < width - 8; x++) inner.push([x, y]);
const seen = inner.map(([x, y]) => second[x + width * y]);
problem.residuals('pixels', {
  inputs: { u: map.shared(0), v: map.shared(1), tone: tone.shared(), at: problem.data(inner.flat(), 2), seen: problem.data(seen) },
  residual: ({ u, v, tone, at, seen }) => {
    const there = picture.at(u.x.mul(at.x).add(u.y.mul(at.y)).add(u.z), v.x.mul(at.x).add(v.y.mul(at.y)).add(v.z));
    return there.mul(tone.x).add(tone.y).sub(seen);
  },
});
const result = await solve(problem);

// A row of pixels, and the same row by the map that was found.
const [[ux, uy, uz], [vx, vy, vz]] = [map.values().slice(0, 3), map.values().slice(3)];
const [gain, offset] = tone.values();
const row = inner.filter(([, y]) => y === 32);
plot({
  x: row.map(([x]) => x), y: row.map(([x, y]) => second[x + width * y]),
  curve: (x) => gain * scene(ux * x + uy * 32 + uz, vx * x + vy * 32 + vz) + offset,
});
console.log('Map', Array.from(map.values(), (value) => value.toFixed(3)), 'tone', Array.from(tone.values(), (value) => value.toFixed(3)));
console.log(result.report());
