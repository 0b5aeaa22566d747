// Values and gradients of real problems in double-single arithmetic on the GPU against the CPU in double precision.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { hasData, listData, readData } from '../shared-data.mjs';
import { longTest } from '../tier.mjs';

/** The largest difference of two gradients, relative to the largest entry. Pairs have 48 bits, and a gradient is some hundred operations and a sum. */
const BOUND = 1e-11;
/** With coordinates around 1e6 the differences of positions have six digits fewer. */
const BOUND_FAR_AWAY = 1e-8;
/** The same comparison in single precision, whose numbers have 24 bits, is off by more. */
const CONTROL = 1e-8;

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(define);
});
after(() => browser.close());

/** In the page: `window.compare(kind, text, moved)` compares single precision and pairs with the CPU. */
async function define() {
  const { GpuCompiledFunctions } = window.residua;
  const { parseNist, nistProblem } = await import('/problems/nist.js');
  const { parseG2o, poseGraphProblem } = await import('/problems/pose-graph.js');
  const { parseObj } = await import('/mesh/obj.js');
  const { meshTopology } = await import('/mesh/topology.js');
  const { springsProblem } = await import('/problems/springs.js');
  const { edgeLengths } = await import('/energies/developable.js');

  const makers = {
    nist: (text) => {
      const dataset = parseNist(text);
      return nistProblem(dataset, dataset.starts[1]).problem;
    },
    poses: (text, moved) => {
      const graph = parseG2o(text);
      graph.positions = graph.positions.map((coordinate) => coordinate + moved);
      return poseGraphProblem(graph).problem;
    },
    springs: (text) => {
      const { positions, triangles } = parseObj(text);
      const { edges } = meshTopology(positions.length / 3, triangles);
      const lengths = edgeLengths(positions, edges).map((length) => 0.9 * length);
      return springsProblem(positions.map((coordinate, i) => (1 + 1e-3 * Math.sin(i)) * coordinate), edges, lengths).problem;
    },
  };
  const differences = (got, expected) => {
    const scale = expected.gradient.reduce((most, entry) => Math.max(most, Math.abs(entry)), 0);
    const worst = expected.gradient.reduce((most, entry, i) => Math.max(most, Math.abs(entry - got.gradient[i])), 0);
    return { value: Math.abs(got.value / expected.value - 1), gradient: worst / scale };
  };
  window.compare = async (kind, text, moved = 0) => {
    const problem = makers[kind](text, moved);
    const evaluate = async (options) => {
      const functions = await GpuCompiledFunctions.compile(problem, options);
      try {
        const first = await functions.evaluateCostWithGradient();
        const second = await functions.evaluateCostWithGradient();
        const repeats = first.value === second.value && first.gradient.every((entry, i) => entry === second.gradient[i]);
        return { ...first, precision: functions.precision, repeats };
      } finally {
        functions.dispose();
      }
    };
    const exact = await evaluate({ backend: 'cpu', precision: 'f32x2' });
    const [single, pairs] = [await evaluate({ backend: 'gpu' }), await evaluate({ backend: 'gpu', precision: 'f32x2' })];
    return {
      precisions: [exact, single, pairs].map(({ precision }) => precision), repeats: pairs.repeats,
      single: differences(single, exact), pairs: differences(pairs, exact),
    };
  };
}

async function holds(name, kind, path, moved, bound) {
  const found = await page.evaluate(([kind, text, moved]) => window.compare(kind, text, moved), [kind, readData(path), moved]);
  const words = ({ value, gradient }) => `value ${value.toExponential(1)}, gradient ${gradient.toExponential(1)}`;
  console.log(`${name.padEnd(28)} f32x2: ${words(found.pairs)}; f32: ${words(found.single)}`);
  assert.deepEqual(found.precisions, ['f64', 'f32', 'f32x2']);
  assert.ok(found.repeats, `${name} repeats`);
  assert.ok(found.pairs.gradient <= bound && found.pairs.value <= bound, `${name}: ${words(found.pairs)}`);
  assert.ok(found.single.gradient > CONTROL, `${name}: the control holds: ${words(found.single)}`);
}

describe('gradients in pairs', () => {
  const graph = 'pose-graphs/sphere2500.g2o', mesh = 'meshes/spot.obj';
  longTest('sphere2500', async (t) => {
    if (hasData(t, graph)) await holds('sphere2500', 'poses', graph, 0, BOUND);
  });
  longTest('sphere2500, moved by a million', async (t) => {
    if (hasData(t, graph)) await holds('sphere2500 moved by 1e6', 'poses', graph, 1e6, BOUND_FAR_AWAY);
  });
  test('springs on spot', async (t) => {
    if (hasData(t, mesh)) await holds('springs on spot', 'springs', mesh, 0, BOUND);
  });
  longTest("NIST's curves at their second start", async (t) => {
    if (!hasData(t, 'nist')) return;
    for (const file of listData('nist', '.dat')) await holds(file, 'nist', `nist/${file}`, 0, BOUND);
  });
});
