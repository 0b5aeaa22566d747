// The editor of the front page, outside of a page: what code of a visitor may plot and print, and its imports.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { residua } from './residua.mjs';
import { folder, mapImports } from './import-map.mjs';

mapImports({ 'residua/tensor': 'tensor.js', 'residua/tensor/onnx': 'tensor-onnx.js', 'residua/tensor/train': 'tensor-train.js' });
await (await import('residua/tensor')).init(readFileSync(new URL('wasm-tensor/residua_tensor_bg.wasm', folder)));

const { inWords, plotOf, withAddresses } = await import('../../www/editor/runner.js');
const { EXAMPLES } = await import('../../www/editor/examples.js');
const { equalled } = await import('../../www/editor/plot.js');

test('a plot has the finite points, and a curve that is sampled from the first to the last', () => {
  const plot = plotOf({ x: [0, 1, NaN, 3], y: [1, 2, 3, 4], curve: (x) => (x > 2 ? Infinity : 2 * x) });
  assert.deepEqual(plot.points, [[0, 1], [1, 2], [3, 4]]);
  assert.deepEqual([plot.line[0], plot.line.length, plot.equalAxes], [[0, 0], 201, false]);
  assert.ok(plot.line.every(([x, y]) => y === 2 * x && x <= 2));
  assert.deepEqual(plotOf({ x: Float32Array.of(1), y: [2], curve: [[1, 2], Float64Array.of(3, 4)], equalAxes: true }), { points: [[1, 2]], line: [[1, 2], [3, 4]], equalAxes: true });
  assert.deepEqual(plotOf({ x: [], y: [], curve: (x) => x }), { points: [], line: [], equalAxes: false });
});

test('a plot of something else is refused by the name of the argument', () => {
  assert.throws(() => plotOf(), /plot: x: got undefined; takes a list of numbers/);
  assert.throws(() => plotOf({ x: [1], y: 'no' }), /plot: y: got no; takes a list of numbers/);
  assert.throws(() => plotOf({ x: [1], y: [1, 2] }), /plot: y: got 2 numbers; takes 1, as many as x has/);
  assert.throws(() => plotOf({ x: [1], y: [1], curve: 3 }), /plot: curve: got 3; takes a function/);
  assert.throws(() => plotOf({ x: new Float64Array(5001), y: new Float64Array(5001) }), /plot: x: got 5001 numbers; takes at most 5000/);
});

test('imports of the package become addresses, and nothing else does', () => {
  const entries = { residua: 'https://a/index.js', 'residua/tensor': 'https://a/tensor.js' };
  const code = `import { fit } from 'residua';\nimport * as t from "residua/tensor";\nconst m = await import('residua');\nimport x from 'residua/none';\nconst words = 'residua';`;
  assert.equal(withAddresses(code, entries), `import { fit } from 'https://a/index.js';\nimport * as t from "https://a/tensor.js";\nconst m = await import('https://a/index.js');\nimport x from 'residua/none';\nconst words = 'residua';`);
});

test('values are printed as consoles print them, also those that JSON has not', () => {
  const circle = {};
  circle.self = circle;
  assert.deepEqual([inWords('a'), inWords(null), inWords(undefined), inWords(-0.5), inWords([1, 2]), inWords(Float64Array.of(1, 2)), inWords(new RangeError('far')), inWords(circle), inWords(2n), inWords({ a: 1n })],
    ['a', 'null', 'undefined', '-0.5', '1, 2', '1, 2', 'RangeError: far', '[object Object]', '2', '{\n "a": "1"\n}']);
});

test('a unit is as long on both axes of a wide picture, and nothing is cut off', () => {
  const [[x0, x1], [y0, y1]] = equalled([0, 2], [0, 4], 200, 100);
  assert.deepEqual([y0, y1], [0, 4]);
  assert.deepEqual([x0, x1], [-3, 5]);
});

/** Runs an example as the worker does: what it printed and plotted. */
async function ran(name) {
  const printed = [], plots = [], { log } = console;
  globalThis.plot = (picture) => plots.push(plotOf(picture));
  console.log = (...values) => printed.push(values.map(inWords).join(' '));
  try {
    await import(`../../www/editor/examples/${name}?${Math.random()}`);
  } finally {
    console.log = log;
  }
  return { text: printed.join('\n'), plots };
}

/** What each example prints at least. */
const PRINTS = {
  oscillation: /height +2\.9\d+e0/, outliers: /\n {2}1 +5\.0\d+e-1/, circle: /CONVERGENCE/, equation: /^Rates 0\.48/, plain: /drag +(2\.99|3\.00)\d+e-1 [^]*gravity +9\.8\d+e0/,
  points: /^Turned by -0\.300\n/, picture: /^Map 1\.010, -0\.030, 1\.500, 0\.020, 0\.980, -0\.700 tone 1\.200, 0\.100\n/, linkage: /^Bars 0\.3500, 0\.9500, 0\.8000\n/, chain: /Constraints/,
  network: /step 600: loss 0\.00/, onnx: /^Takes x: float \[batch,2\]\nGives 41, 2 the last row 3, 0$/, 'first-fit': /\n3, 0\.7$|\n(3|2\.99\d+), (0\.7|0\.69\d+)/,
};

test('the table of examples has those that there are, with a title and a sentence each', () => {
  const files = readdirSync(new URL('../../www/editor/examples/', import.meta.url)).map((name) => name.replace(/\.js$/, ''));
  assert.deepEqual(Object.keys(EXAMPLES).sort(), files.sort());
  assert.deepEqual(Object.keys(PRINTS).sort(), files);
  for (const { title, words } of Object.values(EXAMPLES)) assert.ok(title.length > 5 && title.length < 40 && /^[A-Z].*\.$/.test(words));
});

for (const [name, prints] of Object.entries(PRINTS)) {
  test(`the example “${name}” ends well, prints what it must and plots it`, async () => {
    assert.ok(residua.fit);
    const { text, plots } = await ran(`${name}.js`);
    assert.match(text, prints);
    if (!['network', 'onnx'].includes(name)) assert.match(text, /\n {2}Termination +CONVERGENCE/);
    if (name === 'first-fit') return;
    assert.equal(plots.length, 1);
    assert.ok(plots[0].line.length >= plots[0].points.length / 2 && plots[0].points.length >= 20);
  });
}

/** The largest distance of values of y to a polygon, at places of x. */
const away = ({ points, line }) => Math.max(...points.map(([x, y]) => {
  const k = line.findIndex(([at]) => at >= x - 1e-9);
  return Math.abs(y - line[Math.max(0, k)][1]);
}));

test('scan, path, fall and row of pixels lie on their curves', async () => {
  // Corners of curves are so far apart at most that a point between two of them is this far from both; the fall has noise of 0.02 beside.
  for (const [name, most] of [['points', 0.02], ['linkage', 0.02], ['plain', 0.06], ['picture', 0.15]]) {
    const { plots: [{ points, line }] } = await ran(`${name}.js`);
    const far = Math.max(...points.map(([x, y]) => Math.min(...line.map(([a, b]) => Math.hypot(a - x, b - y)))));
    assert.ok(far < most, `${name}: ${far}`);
  }
});

test('the examples of a circle, an equation and a network draw what was measured', async () => {
  const { plots: [circle] } = await ran('circle.js');
  // Centre (1, −0.5) and radius 2 are in the code; the points scatter by 0.05, and three are elsewhere.
  const radii = circle.line.map(([x, y]) => Math.hypot(x - 1, y + 0.5));
  assert.ok(radii.every((radius) => Math.abs(radius - 2) < 0.05), `${Math.min(...radii)} to ${Math.max(...radii)}`);
  const { text, plots: [hares] } = await ran('equation.js');
  // docs/site/ode-fits.md has the same rates, of the same data.
  assert.match(text, /^Rates 0\.481\d*, 0\.0248\d*, 0\.92(6|59)\d*, 0\.0275\d*/);
  assert.ok(away(hares) < 12, `${away(hares)} thousand hares`);
  const { plots: [learned] } = await ran('network.js');
  assert.ok(away(learned) < 0.25, `${away(learned)}`);
});

test('the example of a hanging chain is the catenary of its length', async () => {
  let places;
  globalThis.plot = ({ curve }) => void (places = curve);
  const log = console.log;
  console.log = () => undefined;
  await import('../../www/editor/examples/chain.js?again');
  console.log = log;
  // Links of a chain whose joints have equal weights: the horizontal force is the same in all, and the vertical one grows by a weight a joint.
  const slopes = places.slice(1).map(([x, y], i) => (y - places[i][1]) / (x - places[i][0]));
  const steps = slopes.slice(1).map((slope, i) => slope - slopes[i]);
  const mean = steps.reduce((sum, step) => sum + step) / steps.length;
  assert.ok(mean > 0 && steps.every((step) => Math.abs(step - mean) < 1e-6 * mean), steps.join(', '));
});
